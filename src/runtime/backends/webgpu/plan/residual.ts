import type { LinearSpec } from '../kernels/linear/linear.ts';
import type { PlanBuffers } from './buffers.ts';

/** What a block of a fused step reads: the residual, with what is fused into reading it. */
export interface FusedInput {
  x: GPUBuffer;
  /** Gain of the norm before. */
  gain?: GPUBuffer;
  /** What the block before gave, to be normed with this gain and added; the sum goes to `xOut`. */
  pending?: { t: GPUBuffer; gain: GPUBuffer; xOut: GPUBuffer; scaled: boolean };
}

/** The residual for a second reader in the same block: what was pending is added by then. */
export function afterRead({ x, gain, pending }: FusedInput): FusedInput {
  return { x: pending ? pending.xOut : x, ...(gain && { gain }) };
}

/** Where a block's last matrix goes: onto the residual, or to `t`, whose norm comes later. */
export interface BranchEnd {
  y: GPUBuffer;
  residual: boolean;
  scale: number;
}

export interface Branch {
  norm?: GPUBuffer;
  postNorm?: GPUBuffer;
  /** The sum is multiplied with what comes after the gains of `postNorm`. */
  hasOutputScale?: boolean;
  scale: number;
}

/** What lies in `t`, and has still to be normed and added. */
export interface Pending {
  gain: GPUBuffer;
  scaled: boolean;
}

/**
 * Follows the residual through the blocks of a step while its dispatches are made. A block without a norm after it adds to the residual in
 * place. One with such a norm (Gemma) leaves its result in `t`; the next reader norms and adds it. Fused readers are many workgroups that all
 * read x while one of them writes the sum, so that x moves between two buffers; a chunk has its own dispatch for it, and x stays.
 */
export class Residual {
  readonly #buffers: Pick<PlanBuffers, 'x' | 't'>;
  #at: 0 | 1 = 0;
  #pending: Pending | undefined;

  constructor(buffers: Pick<PlanBuffers, 'x' | 't'>) {
    this.#buffers = buffers;
  }

  get pending(): Pending | undefined {
    return this.#pending;
  }

  get x(): GPUBuffer {
    return this.#buffers.x[this.#at];
  }

  /** What a fused reader takes; afterwards x holds the sum. @param last nothing after it reads x */
  read(gain: GPUBuffer | undefined): FusedInput {
    const { x, t } = this.#buffers;
    const from = this.x;
    const pending = this.#pending;
    this.#pending = undefined;
    if (!pending) return { x: from, ...(gain && { gain }) };
    this.#at = this.#at === 0 ? 1 : 0;
    return { x: from, ...(gain && { gain }), pending: { t, ...pending, xOut: x[this.#at] } };
  }

  /** A chunk's norm has added what was pending. */
  settle(): void {
    this.#pending = undefined;
  }

  /** Where a branch ends. */
  end({ postNorm, hasOutputScale = false, scale }: Branch): BranchEnd {
    this.#pending = postNorm && { gain: postNorm, scaled: hasOutputScale };
    return postNorm ? { y: this.#buffers.t, residual: false, scale: 1 } : { y: this.x, residual: true, scale };
  }
}

/** Options of a linear kernel that reads so. @param writesX it is the one of several readers that stores the sum */
export function readerSpec(
  { gain, pending }: FusedInput,
  norm: { width: number; epsilon: number },
  writesX: boolean,
): Partial<LinearSpec> {
  return {
    ...(gain && { norm }),
    ...(pending && { postNorm: { ...norm, scaled: pending.scaled }, xOut: writesX }),
  };
}
