import { abortError, isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { ModelSource, OpenedFile } from './source.ts';

export interface ReadOptions {
  signal?: AbortSignal;
  /** Called after every piece with the bytes so far and, where the host says it, the size of the file. */
  onBytes?: (loadedBytes: number, totalBytes?: number) => void;
}

/** @throws TokenglassError `network` if the file ended early; what `source.open` throws */
export async function readBytes(
  source: ModelSource,
  path: string,
  options: ReadOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const file = await source.open(path, options.signal ? { signal: options.signal } : {});
  return readOpened(file, path, options);
}

/** Reads an opened file into memory. */
export async function readOpened(
  file: OpenedFile,
  path: string,
  options: ReadOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  const length = await eachPiece(file, path, options, (piece) => pieces.push(piece));
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}

/** Hands every piece of the file to `take`, with progress, abort and a check of the length. Resolves to the length in bytes. */
export async function eachPiece(
  { stream, totalBytes }: OpenedFile,
  path: string,
  { signal, onBytes }: ReadOptions,
  take: (piece: Uint8Array) => void,
): Promise<number> {
  const reader = stream.getReader();
  let loaded = 0;
  try {
    for (;;) {
      if (signal?.aborted) throw abortError(signal);
      const { done, value } = await reader.read();
      if (done) break;
      take(value);
      loaded += value.length;
      onBytes?.(loaded, totalBytes);
    }
  } finally {
    // A reader that is done or failed ignores this; one that was left early ends the transfer.
    void reader.cancel().catch(() => undefined);
  }
  if (totalBytes !== undefined && loaded !== totalBytes) {
    const message = `Cannot load ${path}: it ended after ${loaded} of ${totalBytes} bytes; try again`;
    throw new TokenglassError('network', message, { details: { path, loadedBytes: loaded, totalBytes } });
  }
  return loaded;
}

/** @throws TokenglassError `model-invalid` if the file is not JSON; what `readBytes` throws */
export async function readJson(source: ModelSource, path: string, options: ReadOptions = {}): Promise<unknown> {
  const text = new TextDecoder().decode(await readBytes(source, path, options));
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const message = `Cannot load ${path} of ${source.id}: it is not JSON; check that the URL names a model`;
    throw new TokenglassError('model-invalid', message, { cause, details: { path } });
  }
}

/** As {@link readJson}, but undefined where the model has no such file. */
export async function readOptionalJson(
  source: ModelSource,
  path: string,
  options: ReadOptions = {},
): Promise<unknown> {
  try {
    return await readJson(source, path, options);
  } catch (error) {
    if (isTokenglassError(error, 'model-not-found')) return undefined;
    throw error;
  }
}
