import type { SamplingParams, TokenLogprob } from '../../shared/generation.ts';
import type { AdapterInfo, ModelInfo } from '../../shared/info.ts';
import type { StepTrace } from '../../shared/trace.ts';

/** What a backend can do; the engine's loop adapts to it. */
export interface BackendCapabilities {
  /** Sequences that may decode in one step. */
  maxBatch: number;
  /** Token rows that one step takes, all sequences together; longer prompts are prefilled in chunks. */
  maxStepTokens: number;
  /** Steps that may be in flight at once (1: each step's result is awaited before the next is given). */
  runAhead: number;
  /** KV can be exported and imported by block. */
  kvExport: boolean;
  /** Largest n for log-probabilities of the n most likely tokens; 0: none. */
  logprobs: number;
  /** A bit mask over the vocabulary can restrict sampling. */
  grammarMask: boolean;
}

export interface BackendInfo {
  name: 'webgpu' | 'onnx-webgpu' | 'onnx-wasm' | (string & {});
  version: string;
  model: ModelInfo;
  adapter?: AdapterInfo;
  threads?: number;
  capabilities: BackendCapabilities;
}

/** Names a sequence of one backend; never used again after `closeSequence`. */
export type SequenceId = number;

export interface SequenceOptions {
  /** Complete: the engine has filled in all defaults, the seed included. */
  sampling: Required<SamplingParams>;
  /** Log-probabilities of the n most likely tokens with each sampled token; 0: none. */
  logprobs: number;
}

/** Work for one sequence within a step. */
export interface StepRow {
  sequence: SequenceId;
  /**
   * Token ids to append to the sequence (1 or more), or `'previous'`: the one token that the sequence's latest step sampled, which
   * may still be in flight.
   */
  input: readonly number[] | 'previous';
  /** Sample a token after the last input token. False for all but the last chunk of a prefill. */
  sample: boolean;
  /** True if input belongs to the prompt: it counts for the repetition penalty only, not for frequency and presence. */
  isPrompt: boolean;
}

export interface StepRowResult {
  sequence: SequenceId;
  /** Absent when the row did not ask for a sample. */
  token?: number;
  /** Natural log-probability of `token` at temperature 1 before penalties; absent unless asked for. */
  logprob?: number;
  /** Most likely first; absent unless asked for. */
  topLogprobs?: readonly TokenLogprob[];
}

export interface StepResult {
  /** In the order of the rows given. */
  rows: readonly StepRowResult[];
  trace: StepTrace;
}

/**
 * Tokens to tokens: runs a batch of steps for sequences and samples. Knows no requests, no text and no stop rules.
 *
 * Lifetime: made by a `createXBackend` function, which has loaded the weights and shown (with a known prompt) that results are
 * right; after `dispose` or a lost device every call rejects. `dispose` twice is safe.
 */
export interface Backend {
  readonly info: BackendInfo;

  /** Resolves, once, when the backend can no longer be used for a reason other than `dispose`; the error has code and cause. */
  readonly lost: Promise<Error>;

  /** Opens an empty sequence. @throws TokenglassError `unsupported` for a parameter outside the capabilities */
  openSequence(options: SequenceOptions): SequenceId;

  /** Gives the sequence's KV back. Unknown ids are ignored; steps in flight for it still resolve. */
  closeSequence(sequence: SequenceId): void;

  /**
   * Runs one step. Steps run in the order of the calls; at most `capabilities.runAhead` may be pending. Each row appends its input
   * (and not the token it samples) to the sequence's KV. The sampled token of position p depends only on the sequence's
   * tokens, its sampling parameters and its seed: not on the batch, on chunking or on run-ahead.
   *
   * @throws TokenglassError `context-overflow`, `numeric-fault`, `device-lost`, `watchdog`
   */
  step(rows: readonly StepRow[]): Promise<StepResult>;

  /**
   * Drops the KV of all tokens from `length` on, and with it their part in the penalties: for steps that ran ahead past a stop
   * and for rejected drafts. Takes effect after the steps already given. @throws RangeError above the current length
   */
  truncate(sequence: SequenceId, length: number): void;

  /** Tokens whose KV the sequence holds, steps in flight included. */
  sequenceLength(sequence: SequenceId): number;

  /** Waits for pending steps, then frees everything. */
  dispose(): Promise<void>;
}
