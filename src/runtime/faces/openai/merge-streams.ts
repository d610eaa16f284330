/**
 * Items of several streams, as they come, each with the index of its stream. Leaving early, and an error of one stream, leaves them all.
 */
export async function* mergeStreams<Item>(
  streams: readonly AsyncIterator<Item, unknown>[],
): AsyncGenerator<{ index: number; item: Item }, void, undefined> {
  const read = async (index: number): Promise<{ index: number; result: IteratorResult<Item, unknown> }> => ({
    index,
    result: await streams[index]!.next(),
  });
  const pending = new Map(streams.map((_, index) => [index, read(index)]));
  try {
    while (pending.size > 0) {
      const { index, result } = await Promise.race(pending.values());
      if (result.done === true) {
        pending.delete(index);
        continue;
      }
      yield { index, item: result.value };
      pending.set(index, read(index));
    }
  } finally {
    for (const left of pending.values()) left.catch(() => undefined); // one error is enough to tell
    for (const index of pending.keys()) void streams[index]!.return?.().catch(() => undefined);
  }
}
