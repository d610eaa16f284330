import { abortError } from '../../../shared/errors.ts';

/**
 * A stream of what `pieces` yields, one piece a read and none ahead. (`ReadableStream.from` is not in every browser, and a generator that was
 * never started does not run its `finally`.)
 *
 * @param signal once it is aborted, the next read throws an `AbortError`
 * @param onEnd called once: at the end, on a failure, or when the reader cancels
 */
export function streamFrom(
  pieces: AsyncGenerator<Uint8Array, void>,
  signal: AbortSignal,
  onEnd: (reason: 'done' | 'failed' | 'cancelled') => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          if (signal.aborted) {
            void pieces.return();
            throw abortError(signal);
          }
          const { done, value } = await pieces.next();
          if (!done) controller.enqueue(value);
          else {
            controller.close();
            onEnd('done');
          }
        } catch (error) {
          onEnd('failed');
          throw error;
        }
      },
      async cancel() {
        onEnd('cancelled');
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}
