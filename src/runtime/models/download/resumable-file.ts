import { isTokenglassError, TokenglassError } from '../../../shared/errors.ts';
import type { ModelSource, OpenedFile } from '../source.ts';
import { isSameVersion } from '../url-source.ts';
import { openLively } from './open-lively.ts';
import { retryDelay, type RetryPolicy } from './retry.ts';

export interface ResumeOptions {
  /** Bytes that are here already. @default 0 */
  start?: number;
  /** ETag of the version that these are from. */
  etag?: string | undefined;
  /** Digest of the version that these are from. */
  sha256?: string | undefined;
  signal: AbortSignal;
  retry: RetryPolicy;
}

/** A file that is being fetched, across as many connections as it takes. */
export interface ResumableFile {
  /** First byte of `pieces`: `start`, or 0 if the host has another version than `etag`. */
  start: number;
  totalBytes?: number;
  etag?: string;
  sha256?: string;
  /** To be read once. @throws TokenglassError `network`, `model-not-found`; `AbortError` */
  pieces: AsyncGenerator<Uint8Array, void>;
  /** Ends the transfer when no piece is being read. */
  cancel(): void;
}

/**
 * Opens a file whose transfer may break off at any byte: it is taken up at that byte, after a pause that grows. No byte is fetched twice from
 * a host that serves ranges.
 *
 * @throws TokenglassError `network`, `model-not-found`; `AbortError`
 */
export async function openResumable(source: ModelSource, path: string, options: ResumeOptions): Promise<ResumableFile> {
  const { start = 0, etag, sha256, signal } = options;
  let opened = await openWithRetry(source, path, start, options);
  if (start > 0 && opened.start !== 0 && !continues(opened, { etag, sha256 })) {
    void opened.stream.cancel().catch(() => undefined);
    opened = await openWithRetry(source, path, 0, { signal, retry: options.retry });
    opened.start = 0;
  }
  const known: FileFacts = {
    ...(opened.totalBytes !== undefined && { totalBytes: opened.totalBytes }),
    ...(opened.etag !== undefined && { etag: opened.etag }),
    ...(opened.sha256 !== undefined && { sha256: opened.sha256 }),
  };
  const from = opened.start ?? start;
  let stream: ReadableStream<Uint8Array> | undefined = opened.stream;
  return {
    start: from,
    ...known,
    pieces: readThrough(source, path, opened, from, known, options),
    cancel: () => {
      // Fails if a reader holds it, which then ends it itself.
      void stream?.cancel().catch(() => undefined);
      stream = undefined;
    },
  };
}

type FileFacts = Pick<OpenedFile, 'totalBytes' | 'etag' | 'sha256'>;

/** True if what was opened is, as far as can be told, the version that `before` names. */
function continues(opened: OpenedFile, before: { [Fact in keyof FileFacts]?: FileFacts[Fact] | undefined }): boolean {
  if (before.sha256 !== undefined && opened.sha256 !== undefined) return before.sha256 === opened.sha256;
  if (before.totalBytes !== undefined && opened.totalBytes !== undefined && before.totalBytes !== opened.totalBytes)
    return false;
  return before.etag === undefined || opened.etag === undefined || isSameVersion(before.etag, opened.etag);
}

async function openWithRetry(
  source: ModelSource,
  path: string,
  start: number,
  { etag, signal, retry }: Pick<ResumeOptions, 'etag' | 'signal' | 'retry'>,
  failuresBefore = 0,
): Promise<OpenedFile> {
  for (let failures = failuresBefore + 1; ; failures++) {
    try {
      const condition = etag !== undefined && start > 0 && { ifRange: etag };
      const part = { signal, cache: 'no-store', ...(start > 0 && { start }), ...condition } as const;
      return await openLively(source, path, part, retry);
    } catch (error) {
      // The file is shorter than what is here of it: it is another one.
      if (start > 0 && isTokenglassError(error) && error.details['status'] === 416) {
        return { ...(await openWithRetry(source, path, 0, { etag, signal, retry }, failures)), start: 0 };
      }
      const delayMs = retryDelay(error, failures, retry);
      if (delayMs === undefined) throw error;
      await retry.sleep(delayMs, signal);
    }
  }
}

async function* readThrough(
  source: ModelSource,
  path: string,
  first: OpenedFile,
  from: number,
  known: FileFacts,
  options: ResumeOptions,
): AsyncGenerator<Uint8Array, void> {
  const { signal, retry } = options;
  let at = from;
  let failures = 0;
  let opened = first;
  for (;;) {
    const reader = opened.stream.getReader();
    let broken: unknown;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (known.totalBytes !== undefined && at + value.length > known.totalBytes)
          throw tooLong(path, known.totalBytes);
        at += value.length;
        failures = 0;
        yield value;
      }
      if (known.totalBytes === undefined || at === known.totalBytes) return;
      broken = endedEarly(path, at, known.totalBytes);
    } catch (error) {
      // A connection may break when the last byte has come.
      if (at === known.totalBytes && isTokenglassError(error, 'network')) return;
      broken = error;
    } finally {
      void reader.cancel().catch(() => undefined);
    }
    failures += 1;
    const delayMs = retryDelay(broken, failures, retry);
    if (delayMs === undefined) throw broken;
    await retry.sleep(delayMs, signal);
    opened = await openWithRetry(source, path, at, { etag: known.etag, signal, retry }, failures);
    if ((opened.start === 0 && at > 0) || !continues(opened, known)) {
      void opened.stream.cancel().catch(() => undefined);
      throw changed(path);
    }
    if (opened.totalBytes !== undefined) known.totalBytes = opened.totalBytes;
  }
}

function endedEarly(path: string, loadedBytes: number, totalBytes: number): TokenglassError {
  const message = `Cannot load ${path}: it ended after ${loadedBytes} of ${totalBytes} bytes; try again`;
  return new TokenglassError('network', message, { details: { path, loadedBytes, totalBytes } });
}

function tooLong(path: string, totalBytes: number): TokenglassError {
  const message = `Cannot load ${path}: the server sends more than the ${totalBytes} bytes that it announced; load it from another server`;
  return new TokenglassError('model-invalid', message, { details: { path, totalBytes } });
}

function changed(path: string): TokenglassError {
  const message = `Cannot load ${path}: it was replaced on the server while it was being loaded; load it again`;
  return new TokenglassError('model-invalid', message, { details: { path } });
}
