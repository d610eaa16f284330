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
  /** KV can be exported and imported by block: {@link Backend.kv} is there. */
  kvExport: boolean;
  /** Largest n for log-probabilities of the n most likely tokens; 0: none. */
  logprobs: number;
  /** A bit mask over the vocabulary can restrict sampling. */
  grammarMask: boolean;
  /**
   * Tokens that one step can sample, all its rows together, when a row of it is sampled at each of its tokens: what there is for the
   * verification of drafts. More than {@link BackendCapabilities.maxBatch}, or 0: rows with `sample: 'each'` are refused.
   */
  maxVerifyTokens: number;
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
  /**
   * Sample a token after the last input token. False for all but the last chunk of a prefill.
   *
   * `'each'`: after every input token, as if the tokens before it were all there is: verifies drafts, with the latest known token and the
   * drafts after it as input. Only with ids as input, without `isPrompt` and `mask`, and within `capabilities.maxVerifyTokens`. All input is
   * appended; what turns out to be wrong goes by `truncate`. `'previous'` then means the row's last sampled token, until a truncation.
   */
  sample: boolean | 'each';
  /** True if input belongs to the prompt: it counts for the repetition penalty only, not for frequency and presence. */
  isPrompt: boolean;
  /**
   * Which tokens may be sampled: bit `id & 31` of word `id >> 5`, 0 bans; one word for each 32 tokens of the vocabulary. Only with
   * `capabilities.grammarMask`, and while no earlier step of the sequence is in flight. Absent: all of them.
   */
  mask?: Uint32Array<ArrayBuffer>;
}

/** A token that was sampled. */
export interface SampledToken {
  token: number;
  /** Natural log-probability of `token` at temperature 1 before penalties; absent unless asked for. */
  logprob?: number;
  /** Most likely first; absent unless asked for. */
  topLogprobs?: readonly TokenLogprob[];
}

/** The sampled token of a row, if it asked for one, or for one after each input token. */
export interface StepRowResult extends Partial<SampledToken> {
  sequence: SequenceId;
  /** With `sample: 'each'`, and instead of `token`: what follows each input token, in order; penalties count the input up to there. */
  tokens?: readonly SampledToken[];
}

export interface StepResult {
  /** In the order of the rows given. */
  rows: readonly StepRowResult[];
  trace: StepTrace;
}

/** Tokens of a block of KV: what is kept, shared, exported and imported is whole blocks. */
export const KV_BLOCK_TOKENS = 32;

/** A block of KV that the backend keeps although its sequence may be gone; made and understood by that backend only. */
export interface HeldKvBlock {
  /** Bytes that it takes where it lies. */
  readonly bytes: number;
  /**
   * False: no sequence can go on from its end, as the state there that is no KV was not kept, or was given up; it is of use together with later
   * blocks alone. @default true
   */
  readonly resumes?: boolean;
}

/** KV that outlives its sequence: kept where it was computed, or as bytes that may be stored and come back in another process. */
export interface BackendKv {
  /**
   * Precision and layout of a block's bytes, and everything besides the tensors that changes a value of KV (see `kvFormat`). Bytes fit
   * backends with the same format and model fingerprint, and no others.
   */
  readonly format: string;
  /** Bytes of an exported block. */
  readonly blockBytes: number;
  /**
   * Bytes of state that is no KV (convolutions, delta nets): an exported block from whose end a sequence can go on has as many after its
   * {@link BackendKv.blockBytes}, and the last of the blocks that are restored is such a one. 0: every block is. @default 0
   */
  readonly stateBytes?: number;

  /**
   * Keeps blocks `start` to before `end` (counted in blocks) of a sequence, as they are after the steps already given. The sequence may be
   * closed as soon as this was called.
   * @throws RangeError for blocks that the sequence does not have in full
   */
  hold(sequence: SequenceId, start: number, end: number): Promise<HeldKvBlock[]>;

  /** Copies of the bytes of held blocks, which stay held. Blocks given here may be released before it resolves. */
  read(blocks: readonly HeldKvBlock[]): Promise<Uint8Array<ArrayBuffer>[]>;

  /** Gives held blocks up; sequences that use them go on. */
  release(blocks: readonly HeldKvBlock[]): void;

  /**
   * Gives an empty sequence the KV of `tokens`: blocks that follow each other from its beginning. It then goes on as if it had computed them,
   * of which the first `promptTokens` as prompt. Resolves to the blocks, all held: those that were given as bytes newly so.
   * @throws RangeError if the sequence is not empty, or blocks and tokens do not fit together or this model
   */
  restore(
    sequence: SequenceId,
    tokens: readonly number[],
    blocks: readonly (HeldKvBlock | Uint8Array<ArrayBuffer>)[],
    promptTokens: number,
  ): Promise<HeldKvBlock[]>;

  /**
   * Set by the owner of held blocks, where these lie in memory that sequences need too: called when a step finds none left. To release one or
   * more held blocks and give true, or to give false if there are none.
   */
  onMemoryNeeded?: (() => boolean) | undefined;
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
   * tokens, its sampling parameters and its seed: not on the batch, on chunking, on run-ahead or on `'each'`. (Kernels for one row and
   * for several may round differently, so a tie within that may fall the other way.)
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

  /**
   * Sets KV aside for `tokens` more of a sequence (from its length on, what is set aside already included), giving up kept blocks if need be;
   * false, with nothing set aside, where others leave no room for it. A step within what is set aside never lacks KV; a step beyond it may
   * reject with `context-overflow` before anything is done. Alone, a sequence always finds room for a whole context.
   * @throws RangeError for a sequence that is not open, or past the context
   */
  reserveKv(sequence: SequenceId, tokens: number): boolean;

  /** Keeping and giving back KV by block; absent where `capabilities.kvExport` is false. */
  readonly kv?: BackendKv;

  /** Waits for pending steps, then frees everything. */
  dispose(): Promise<void>;
}
