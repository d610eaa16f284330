import type { ChatMessage, FinishReason } from '../../../src/index.ts';
import type { AdapterInfo, LoadProgress } from '../../../src/index.ts';

/** A token, or several that came at once, as a library tells of them. */
export interface RacerDelta {
  text: string;
  /** Tokens in it; 0 where text that was held back comes by itself. */
  count: number;
  /** Their ids, where the library tells them. */
  ids?: readonly number[];
  /** When they were known (`performance.timeOrigin + performance.now()`). */
  atMs: number;
}

export interface RacerTask {
  messages: readonly ChatMessage[];
  maxTokens: number;
  signal: AbortSignal;
  onDelta: (delta: RacerDelta) => void;
}

/** What a library tells of an answer it has ended; what it does not tell is absent. */
export interface RacerEnd {
  finishReason: FinishReason;
  promptTokens?: number;
  cachedTokens?: number;
  /** Compute time of the prompt, ms, as the library measured it. */
  prefillMs?: number;
}

/** What a library runs, and on what. */
export interface RacerFacts {
  name: string;
  version: string;
  model: string;
  /** Of the weights, as the file says: `Q4_0`, `q4`. */
  precision: string;
  /** Of the files of the model. */
  modelBytes: number;
  /** What computes; absent for a CPU. */
  adapter?: AdapterInfo;
  /** Of the CPU; absent for a GPU. */
  threads?: number;
  /** One sentence. */
  reason: string;
}

/** A library that is no engine of ours, made to race: all that an adapter has to give. Greedy, and nothing cached between two answers. */
export interface Racer {
  readonly facts: RacerFacts;
  /** Rejects with an `AbortError` once the signal is aborted. */
  generate(task: RacerTask): Promise<RacerEnd>;
  /** Gives all memory back. */
  dispose(): Promise<void>;
}

export interface RacerOptions {
  /** As `createEngine` takes it. */
  model: string;
  device: 'gpu' | 'cpu';
  /** Of the CPU. @default what the library takes */
  threads?: number;
  onProgress: (progress: LoadProgress) => void;
  signal: AbortSignal;
}

/** Loads a library and a model in it. */
export type LoadRacer = (options: RacerOptions) => Promise<Racer>;
