import type { SampledToken, SequenceOptions } from '../backend.ts';
import { resolveSampling } from '../sampling/definition.ts';
import { createSampler, type Sampler } from '../sampling/sampler.ts';
import { TokenCounts } from '../sampling/token-counts.ts';

interface Slot {
  options: SequenceOptions;
  /** Only with a penalty. */
  counts?: TokenCounts;
  latest: number;
}

/** Chooses tokens of sequences, as sampling/definition.ts says, and remembers for each of them what that needs. */
export class SequenceSampler {
  readonly #sampler: Sampler;
  readonly #slots = new Map<number, Slot>();

  constructor(vocabSize: number) {
    this.#sampler = createSampler(vocabSize);
  }

  /** @throws RangeError for a parameter outside its range */
  open(slot: number, options: SequenceOptions): void {
    const { penalised } = resolveSampling(options.sampling, this.#sampler.vocabSize);
    this.#slots.set(slot, { options, latest: 0, ...(penalised && { counts: new TokenCounts() }) });
  }

  /** The token that was sampled last. */
  latest(slot: number): number {
    return this.#slots.get(slot)!.latest;
  }

  append(slot: number, ids: readonly number[], isPrompt: boolean): void {
    const { counts } = this.#slots.get(slot)!;
    if (counts) for (const id of ids) counts.append(id, isPrompt);
  }

  /** {@link append}, as what restores KV calls it. */
  appendTokens(slot: number, _position: number, ids: readonly number[], isPrompt: boolean): void {
    this.append(slot, ids, isPrompt);
  }

  truncate(slot: number, length: number): void {
    const counts = this.#slots.get(slot)?.counts;
    if (counts && length < counts.length) counts.truncate(length);
  }

  sample(slot: number, logits: Float32Array, position: number, mask?: Uint32Array): SampledToken {
    const { options, counts } = this.#slots.get(slot)!;
    const sampled = this.#sampler.sample({
      logits,
      params: options.sampling,
      position,
      logprobs: options.logprobs,
      ...(counts && { counts }),
      ...(mask && { mask }),
    });
    this.#slots.get(slot)!.latest = sampled.token;
    return sampled;
  }
}
