import type { ModelSource } from '../source.ts';

/** A model file in memory as a source, in pieces of a size that divides nothing. */
export function memorySource(bytes: Uint8Array<ArrayBuffer>, pieceBytes = 1_000_003): ModelSource {
  return {
    id: 'synthetic',
    kind: 'file',
    open: (_path, { start = 0, end = bytes.length } = {}) => {
      let at = start;
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (at >= end) controller.close();
          else {
            const next = Math.min(end, at + pieceBytes);
            controller.enqueue(bytes.subarray(at, next));
            at = next;
          }
        },
      });
      return Promise.resolve({ totalBytes: bytes.length, stream });
    },
  };
}
