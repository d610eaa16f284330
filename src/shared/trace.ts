import type { Usage } from './generation.ts';

/** Times of one backend step. All in ms; a part that this backend cannot tell apart is absent and within `totalMs`. */
export interface StepTiming {
  /** From the call of `Backend.step` to its result on the CPU. */
  totalMs: number;
  /** CPU time to encode commands or prepare inputs. */
  encodeMs?: number;
  /** CPU time of the queue submit or session call itself. */
  submitMs?: number;
  /** Time the device was busy, from timestamp queries. */
  gpuMs?: number;
  /** Time to choose the token, where it is a part of its own (CPU sampling). */
  sampleMs?: number;
  /** From submit to the result in CPU memory, less `gpuMs` where that is known: then it is waiting, also for steps in flight before it; else mostly computing. */
  readbackMs?: number;
}

/** What one backend step did; emitted as an engine event, and the raw material of the diagnosis. */
export interface StepTrace {
  kind: 'prefill' | 'decode';
  /** Start of the step (see `Clock`). */
  startedAtMs: number;
  timing: StepTiming;
  /** Sequences in the step. */
  batch: number;
  /** Token rows computed in the step. */
  tokens: number;
  /** Longest context (tokens with KV) after the step. */
  contextTokens: number;
  /** Of `tokens`, those that are drafts to be verified; absent where there are none. */
  drafted?: number;
  /** Of `drafted`, those that became output; absent where there are no drafts. */
  accepted?: number;
  /** Bytes that the plan says were read and written; absent where the backend does not count them. */
  bytes?: { weights: number; kv: number; activations: number };
  /** Floating point operations (a multiply-add is two); absent where not counted. */
  flop?: number;
  /** GPU dispatches; absent where not counted. */
  dispatches?: number;
}

/**
 * Points in the life of a request (see `Clock`), in this order. A mark that was never reached is absent. TTFT and its parts
 * are differences of these (`runtime/metrics/ttft.ts`).
 */
export interface RequestMarks {
  /** The caller called. */
  calledMs: number;
  /** The engine took the request off its queue. What was done for it while it waited counts as waiting. */
  startedMs?: number;
  /** Template applied and prompt tokenized. */
  tokenizedMs?: number;
  /** Prefix cache looked up and hits restored. */
  cacheReadyMs?: number;
  /** The last prefill chunk's compute ended. */
  prefilledMs?: number;
  /** The first output token's id was known. */
  firstTokenMs?: number;
  /** The first non-empty delta left the engine. */
  firstDeltaMs?: number;
  /** The first non-empty delta reached the caller (stamped in the caller's realm). */
  firstDeliveredMs?: number;
  /** The last token's id was known. */
  lastTokenMs?: number;
  /** The last delta reached the caller. */
  lastDeliveredMs?: number;
  /** The engine was done with the request: complete, stopped or failed, wherever it was by then. */
  endedMs?: number;
}

/** Everything that was measured of one request; metrics are pure functions of it. */
export interface RequestTrace {
  requestId: string;
  marks: RequestMarks;
  usage: Usage;
  /** Time of each output token at the engine (see `Clock`), in order; `usage.completionTokens` of them. */
  tokenTimesMs: readonly number[];
  /** Compute time of all prefill steps, ms; absent if everything came from the cache. */
  prefillMs?: number;
  /** Time on the engine's thread to turn token ids into text and to look for stop strings, all tokens together, ms; absent where that is not told. */
  detokenizeMs?: number;
  /** The seed that was used; absent for greedy decoding. */
  seed?: number;
  /** Times that it gave its KV up to others and went on later; absent for none. */
  preemptions?: number;
  /** True if the page was hidden at any time of the request; such samples stay out of percentiles. */
  hidden: boolean;
}
