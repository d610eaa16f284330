import { KV_BLOCK_TOKENS, type BackendKv, type HeldKvBlock, type SequenceId } from '../backend.ts';
import type { KvBlock } from './kv-block.ts';
import { kvBytesPerToken, kvTokenBytes, type KvLayout } from './kv-tensors.ts';
import type { OnnxBackend } from './onnx-backend.ts';

/** A block in CPU memory: key of layer 0, value of layer 0, key of layer 1, ..., each [kvHeads, 32, headDim]. */
class CpuBlock implements HeldKvBlock {
  readonly data: Uint8Array<ArrayBuffer>;

  constructor(data: Uint8Array<ArrayBuffer>) {
    this.data = data;
  }

  get bytes(): number {
    return this.data.byteLength;
  }
}

/**
 * KV by block, out of and back into past and present tensors. Blocks are kept in CPU memory on WebGPU too: the tensors of a
 * sequence are one piece each, of which nothing can be shared.
 */
export class OnnxKv implements BackendKv {
  readonly format: string;
  readonly blockBytes: number;
  readonly #backend: Pick<OnnxBackend, 'exportKv' | 'importKv'>;
  readonly #layout: KvLayout;

  constructor(backend: Pick<OnnxBackend, 'exportKv' | 'importKv'>, layout: KvLayout) {
    this.#backend = backend;
    this.#layout = layout;
    const { layers, kvHeads, headDim, type } = layout;
    this.format = `onnx/1 ${type} ${layers}x2x${kvHeads}x${KV_BLOCK_TOKENS}x${headDim}`;
    this.blockBytes = kvBytesPerToken(layout) * KV_BLOCK_TOKENS;
  }

  async hold(sequence: SequenceId, start: number, end: number): Promise<HeldKvBlock[]> {
    const { tensors } = await this.#backend.exportKv(sequence, start * KV_BLOCK_TOKENS, end * KV_BLOCK_TOKENS);
    return Array.from({ length: end - start }, (_, index) => new CpuBlock(this.#blockOf(tensors, index, end - start)));
  }

  read(blocks: readonly HeldKvBlock[]): Promise<Uint8Array<ArrayBuffer>[]> {
    return Promise.resolve(blocks.map(dataOf));
  }

  release(): void {
    // Garbage collection does it.
  }

  async restore(
    sequence: SequenceId,
    tokens: readonly number[],
    blocks: readonly (HeldKvBlock | Uint8Array<ArrayBuffer>)[],
    promptTokens: number,
  ): Promise<HeldKvBlock[]> {
    const held = blocks.map((block) => (block instanceof Uint8Array ? new CpuBlock(block) : block));
    const parts = held.map((block, index) => this.#partOf(dataOf(block), index));
    await this.#backend.importKv(sequence, tokens, parts, promptTokens);
    return held;
  }

  /** The bytes of one tensor in a block. */
  get #partBytes(): number {
    return this.#layout.kvHeads * KV_BLOCK_TOKENS * kvTokenBytes(this.#layout);
  }

  /** Block `index` of tensors that hold `count` blocks. */
  #blockOf(tensors: readonly Uint8Array[], index: number, count: number): Uint8Array<ArrayBuffer> {
    const { kvHeads } = this.#layout;
    const headBytes = this.#partBytes / kvHeads;
    const data = new Uint8Array(this.blockBytes);
    let at = 0;
    for (const tensor of tensors) {
      for (let head = 0; head < kvHeads; head++) {
        const from = (head * count + index) * headBytes;
        data.set(tensor.subarray(from, from + headBytes), at);
        at += headBytes;
      }
    }
    return data;
  }

  #partOf(data: Uint8Array<ArrayBuffer>, index: number): KvBlock {
    if (data.byteLength !== this.blockBytes)
      throw new RangeError(`Cannot restore KV: a block has ${data.byteLength} bytes, not ${this.blockBytes}`);
    const bytes = this.#partBytes;
    return {
      start: index * KV_BLOCK_TOKENS,
      end: (index + 1) * KV_BLOCK_TOKENS,
      type: this.#layout.type,
      tensors: this.#layout.past.map((_, part) => data.subarray(part * bytes, (part + 1) * bytes)),
    };
  }
}

function dataOf(block: HeldKvBlock): Uint8Array<ArrayBuffer> {
  if (block instanceof CpuBlock) return block.data;
  throw new RangeError('Cannot use a KV block that this backend has not made');
}
