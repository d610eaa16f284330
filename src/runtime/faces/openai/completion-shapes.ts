import type { CompletionUsage } from './usage.ts';

/** Log-probabilities in the older shape: one entry a token in each list. */
export interface CompletionLogprobs {
  tokens: string[];
  token_logprobs: number[];
  top_logprobs: Record<string, number>[];
  /** Where each token begins in the text, in UTF-16 units. */
  text_offset: number[];
}

export interface CompletionChoice {
  index: number;
  text: string;
  logprobs: CompletionLogprobs | null;
  /** Null while the answer goes on. */
  finish_reason: 'stop' | 'length' | null;
}

/** A whole answer, or a piece of a stream: OpenAI has one shape for both. */
export interface Completion {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  system_fingerprint: string;
  choices: CompletionChoice[];
  usage?: CompletionUsage | null;
}
