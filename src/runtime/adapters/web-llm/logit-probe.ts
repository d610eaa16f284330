import type { TokenLogprob } from '../../../shared/generation.ts';
import { kthLargest, topN } from '../../backends/sampling/top-n.ts';
import type { MlcLogitProcessor } from './pipeline.ts';
import type { TokenBytes } from './token-bytes.ts';

/** What a request wants of the logits that the library has no parameter for. */
export interface LogitWishes {
  /** As in `GenerateRequest.logprobs`. */
  logprobs: number;
  /** 0: off. */
  topK: number;
  /** 0: off. */
  minP: number;
  /** At which `minP` is measured. */
  temperature: number;
}

/** True if the logits have to come to the CPU for it, each step, which costs time. */
export const needsLogits = ({ logprobs, topK, minP }: LogitWishes): boolean => logprobs > 0 || topK > 0 || minP > 0;

/**
 * Sees the logits of each step before the library's bias, penalties and temperature: log-probabilities as this project defines them
 * (temperature 1, before penalties; the library's own are after both), and top-k and min-p, which it does not have.
 */
export class LogitProbe implements MlcLogitProcessor {
  readonly #wishes: LogitWishes;
  readonly #bytesOf: TokenBytes;
  #logits = new Float32Array();
  /** Log of the sum of their exponentials. */
  #logSum = 0;

  constructor(wishes: LogitWishes, bytesOf: TokenBytes) {
    this.#wishes = wishes;
    this.#bytesOf = bytesOf;
  }

  processLogits(logits: Float32Array): Float32Array {
    const { logprobs, topK, minP, temperature } = this.#wishes;
    let max = -Infinity;
    for (const logit of logits) if (logit > max) max = logit;
    if (logprobs > 0) {
      this.#logits = logits.slice();
      let sum = 0;
      for (const logit of logits) sum += Math.exp(logit - max);
      this.#logSum = max + Math.log(sum);
    }
    if (temperature === 0) return logits;
    let least = -Infinity;
    if (topK > 0 && topK < logits.length) least = kthLargest(logits, topK, new Float32Array(topK));
    if (minP > 0) least = Math.max(least, max + temperature * Math.log(minP));
    if (least > -Infinity) for (let id = 0; id < logits.length; id++) if (logits[id]! < least) logits[id] = OUT;
    return logits;
  }

  processSampledToken(): void {
    // The pipeline tells of tokens before it calls this.
  }

  resetState(): void {
    // Nothing is kept from one answer to the next.
  }

  /** What was asked for of the token that came from the latest logits. */
  tell(id: number): { logprob?: number; topLogprobs?: TokenLogprob[]; bytes?: Uint8Array } {
    const { logprobs } = this.#wishes;
    if (logprobs === 0) return {};
    const ids = new Uint32Array(logprobs);
    const found = topN(this.#logits, logprobs, ids);
    return {
      ...this.#one(id),
      topLogprobs: Array.from(ids.subarray(0, found), (top) => ({ id: top, ...this.#one(top) })),
    };
  }

  #one(id: number): { logprob: number; bytes?: Uint8Array } {
    const bytes = this.#bytesOf(id);
    return { logprob: (this.#logits[id] ?? -Infinity) - this.#logSum, ...(bytes && { bytes }) };
  }
}

/** Far below any logit, and finite: the library multiplies and divides what it gets. */
const OUT = -1e9;
