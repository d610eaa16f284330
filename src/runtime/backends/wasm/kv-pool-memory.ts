import type { PoolMemory } from './wasm-kv.ts';
import type { WasmPlan } from './plan.ts';

/** Bytes of KV blocks in memory: a block on the outside is, layer by layer, its keys and then its values. */
export class KvPoolMemory implements PoolMemory {
  readonly blockBytes: number;
  readonly #bytes: Uint8Array;
  /** Where keys of layer 0, values of layer 0, keys of layer 1, ... begin. */
  readonly #halves: readonly { at: number; bytes: number }[];

  constructor(bytes: Uint8Array, { kv }: WasmPlan) {
    this.#bytes = bytes;
    this.#halves = [...kv.values()].flatMap(({ keys, values, bytes: half }) => [
      { at: keys, bytes: half },
      { at: values, bytes: half },
    ]);
    this.blockBytes = this.#halves.reduce((sum, half) => sum + half.bytes, 0);
  }

  copy(from: number, to: number): void {
    for (const { at, bytes } of this.#halves)
      this.#bytes.copyWithin(at + to * bytes, at + from * bytes, at + (from + 1) * bytes);
  }

  read(blocks: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    return Promise.resolve(
      blocks.map((block) => {
        const copy = new Uint8Array(this.blockBytes);
        let to = 0;
        for (const { at, bytes } of this.#halves) {
          copy.set(this.#bytes.subarray(at + block * bytes, at + (block + 1) * bytes), to);
          to += bytes;
        }
        return copy;
      }),
    );
  }

  write(blocks: readonly number[], data: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
    for (const [index, block] of blocks.entries()) {
      let from = 0;
      for (const { at, bytes } of this.#halves) {
        this.#bytes.set(data[index]!.subarray(from, from + bytes), at + block * bytes);
        from += bytes;
      }
    }
    return Promise.resolve();
  }
}
