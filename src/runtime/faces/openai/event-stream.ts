import type { ApiError } from './api-error.ts';

/**
 * Server-sent events of chunks: one `data:` line each, then `[DONE]`. An error on the way is an event with an error body, after which the stream
 * ends. Chunks are taken when they are asked for.
 *
 * @param onCancel the reader has gone
 */
export function eventStream(
  chunks: AsyncGenerator<unknown, void, undefined>,
  toApiError: (error: unknown) => ApiError,
  onCancel: () => void,
): ReadableStream<Uint8Array> {
  const utf8 = new TextEncoder();
  const event = (data: string): Uint8Array => utf8.encode(`data: ${data}\n\n`);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        controller.enqueue(event(done === true ? '[DONE]' : JSON.stringify(value)));
        if (done === true) controller.close();
      } catch (error) {
        controller.enqueue(event(JSON.stringify(toApiError(error).body)));
        controller.close();
      }
    },
    cancel() {
      onCancel();
    },
  });
}
