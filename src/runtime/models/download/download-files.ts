import type { ModelSource } from '../source.ts';

/**
 * Reads files of a source to the end, several at once, and lets go of their bytes. With a `storedSource` this fills the store, so that
 * the model loads without a network later.
 *
 * @param options.concurrency files at a time. @default 3
 * @throws what `source.open` and its streams throw; the other files are then given up
 */
export async function downloadFiles(
  source: ModelSource,
  paths: readonly string[],
  { concurrency = 3, signal }: { concurrency?: number; signal?: AbortSignal } = {},
): Promise<void> {
  const failed = new AbortController();
  const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const waiting = [...paths];
  const work = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const { stream } = await source.open(path, { signal: either });
      await stream.pipeTo(new WritableStream(), { signal: either });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, paths.length) }, work));
  } catch (error) {
    failed.abort();
    throw error;
  }
}
