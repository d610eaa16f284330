import { TokenglassError } from '../../../shared/errors.ts';
import type { ModelSource } from '../source.ts';
import { openLively } from './open-lively.ts';
import { retryDelay, type RetryPolicy } from './retry.ts';

export interface FetchPartOptions {
  start: number;
  /** Exclusive. */
  end: number;
  etag: string | undefined;
  signal: AbortSignal;
  retry: RetryPolicy;
}

/** Fetches a small part of a file into memory. @throws TokenglassError `network`, `model-not-found`; `AbortError` */
export async function fetchPart(source: ModelSource, path: string, options: FetchPartOptions): Promise<Uint8Array> {
  const { signal, retry } = options;
  for (let failures = 1; ; failures++) {
    try {
      return await fetchOnce(source, path, options);
    } catch (error) {
      const delayMs = retryDelay(error, failures, retry);
      if (delayMs === undefined) throw error;
      await retry.sleep(delayMs, signal);
    }
  }
}

async function fetchOnce(
  source: ModelSource,
  path: string,
  { start, end, etag, signal, retry }: FetchPartOptions,
): Promise<Uint8Array> {
  const condition = etag === undefined ? {} : { ifRange: etag };
  const part = { start, end, signal, cache: 'no-store', ...condition } as const;
  const { stream } = await openLively(source, path, part, retry);
  const bytes = new Uint8Array(end - start);
  let at = 0;
  for await (const piece of stream) {
    const part = piece.subarray(0, bytes.length - at);
    bytes.set(part, at);
    at += part.length;
    if (at === bytes.length) break;
  }
  if (at === bytes.length) return bytes;
  const message = `Cannot load ${path}: a part of it ended after ${at} of ${bytes.length} bytes; try again`;
  throw new TokenglassError('network', message, { details: { path, start, end } });
}
