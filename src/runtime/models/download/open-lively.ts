import { TokenglassError } from '../../../shared/errors.ts';
import type { ModelSource, OpenedFile, OpenOptions } from '../source.ts';
import type { RetryPolicy } from './retry.ts';

type StallPolicy = Pick<RetryPolicy, 'stallMs' | 'after'>;

/**
 * Opens a file whose connection is given up once it has sent nothing for `stallMs`, before its answer or within it: a network that falls
 * silent (a sleeping laptop, a lost mobile connection) tells nobody. The time in which nobody reads does not count.
 *
 * @throws TokenglassError `network` after a silence, also from the stream; what `source.open` throws
 */
export async function openLively(
  source: ModelSource,
  path: string,
  { signal, ...options }: OpenOptions,
  { stallMs, after }: StallPolicy,
): Promise<OpenedFile> {
  if (stallMs === Infinity) return source.open(path, { ...options, ...(signal && { signal }) });
  const silent = new AbortController();
  const signals = signal ? AbortSignal.any([signal, silent.signal]) : silent.signal;
  const guarded = async <Result>(work: Promise<Result>): Promise<Result> => {
    let cancelTimer: (() => void) | undefined;
    const stalled = new Promise<never>((_, reject) => {
      cancelTimer = after(stallMs, () => {
        const error = wentSilent(path, stallMs);
        reject(error);
        // Ends the connection, too.
        silent.abort(error);
      });
    });
    try {
      return await Promise.race([work, stalled]);
    } finally {
      cancelTimer?.();
    }
  };
  const opening = source.open(path, { ...options, signal: signals });
  const opened = await guarded(opening).catch((error: unknown) => {
    // A source that does not look at its signal may still open: nobody would read it.
    opening.then(({ stream }) => stream.cancel()).catch(() => undefined);
    throw error;
  });
  const reader = opened.stream.getReader();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await guarded(reader.read());
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { ...opened, stream };
}

function wentSilent(path: string, stallMs: number): TokenglassError {
  const message = `Cannot load ${path}: the connection sent nothing for ${Math.round(stallMs / 1000)} s; check the network and try again`;
  return new TokenglassError('network', message, { details: { path, stallMs } });
}
