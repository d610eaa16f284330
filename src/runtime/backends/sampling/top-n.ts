/** Writes the ids of the `n` largest values above -Infinity, by (value down, id up), into `ids`; returns how many there are. */
export function topN(values: Float32Array, n: number, ids: Uint32Array): number {
  let found = 0;
  let least = -Infinity;
  for (let id = 0; id < values.length; id++) {
    const value = values[id]!;
    if (found === n ? value <= least : value === -Infinity) continue;
    let at = found < n ? found++ : n - 1;
    for (; at > 0 && values[ids[at - 1]!]! < value; at--) ids[at] = ids[at - 1]!;
    ids[at] = id;
    if (found === n) least = values[ids[n - 1]!]!;
  }
  return found;
}

/** The `k`-th largest value (1 <= k <= values.length), with a heap of k values in `heap`. */
export function kthLargest(values: Float32Array, k: number, heap: Float32Array): number {
  for (let i = 0; i < k; i++) heap[i] = values[i]!;
  for (let i = (k >> 1) - 1; i >= 0; i--) sink(heap, i, k, heap[i]!);
  for (let i = k; i < values.length; i++) {
    const value = values[i]!;
    if (value > heap[0]!) sink(heap, 0, k, value);
  }
  return heap[0]!;
}

/** Puts `value` at `at` of a min-heap of `size`, or below it. */
function sink(heap: Float32Array, at: number, size: number, value: number): void {
  for (;;) {
    let child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= value) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
}
