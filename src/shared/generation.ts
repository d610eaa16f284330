/** Who speaks in a chat turn. `developer` is treated as `system` by templates that do not know it. */
export type ChatRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

export interface ChatMessage {
  role: ChatRole;
  content: string;
  /** More fields of the turn, by the names that chat templates have for them: `tool_calls`, `tool_call_id`, `name`. Plain data. */
  templateFields?: Readonly<Record<string, unknown>>;
}

/** How the next token is chosen. All optional; the default is what the model's generation config says, else greedy. */
export interface SamplingParams {
  /** 0 is greedy (argmax; ties go to the lowest id). @default 0 */
  temperature?: number;
  /** Keep the smallest set of tokens whose probability adds up to at least this, in (0, 1]. @default 1 (off) */
  topP?: number;
  /** Keep the k most likely tokens; 0 is off. @default 0 */
  topK?: number;
  /** Drop tokens less likely than this share of the most likely one, in [0, 1). @default 0 (off) */
  minP?: number;
  /** Divides positive and multiplies negative logits of tokens in prompt or output (CTRL, arXiv 1909.05858). @default 1 */
  repetitionPenalty?: number;
  /** Subtracted from a logit once per occurrence of the token in the output (OpenAI). @default 0 */
  frequencyPenalty?: number;
  /** Subtracted from a logit once if the token occurs in the output (OpenAI). @default 0 */
  presencePenalty?: number;
  /** Added to the logits of these token ids before anything else. `-Infinity` (or -100 and below) bans a token. */
  logitBias?: Readonly<Record<number, number>>;
  /** Unsigned 32-bit. The same seed, prompt and engine give the same tokens. @default a random one, told in the trace */
  seed?: number;
}

/** Greedy, and everything else off: what the defaults of {@link SamplingParams} come to. */
export const NEUTRAL_SAMPLING: Readonly<Required<SamplingParams>> = {
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: {},
  seed: 0,
};

/** Which request goes first where they compete: see {@link GenerateRequest.priority}. */
export type Priority = 'high' | 'normal' | 'low';

export interface GenerateRequest {
  /** Chat turns, formatted by the model's own template. Exactly one of `messages`, `prompt`, `promptTokens`. */
  messages?: readonly ChatMessage[];
  /** More variables for the chat template, such as `tools` or `enable_thinking`; only with `messages`. Plain data. */
  templateVariables?: Readonly<Record<string, unknown>>;
  /** Raw text, no template; a BOS is put first if the model wants one. Control tokens in it stay plain text. */
  prompt?: string;
  /** Token ids, taken as they are. */
  promptTokens?: readonly number[];
  sampling?: SamplingParams;
  /** At most this many output tokens. @default what is left of the context */
  maxTokens?: number;
  /** Generation ends before any of these strings; they are not part of the output. */
  stop?: readonly string[];
  /** Generation ends at any of these ids, besides the model's own end tokens. */
  stopTokenIds?: readonly number[];
  /** Go on past the model's end tokens (benchmarks of a fixed length); `stop` strings still end. @default false */
  ignoreEos?: boolean;
  /** Every token keeps to this, so that the answer parses unless its length runs out. @throws `unsupported` where an engine cannot */
  grammar?: OutputGrammar;
  /** False: no drafts for this answer, on an engine with speculative decoding. The text is the same either way. @default true */
  speculation?: boolean;
  /** Log-probabilities of the sampled token and of the n most likely ones, with each token. @default 0 (none) */
  logprobs?: number;
  /**
   * Against other requests of the same engine: a higher one is taken off the queue first, has more of each step for its prompt, and keeps its KV
   * longer. None is overtaken for ever. Requests of one priority are served in order. @default 'normal'
   */
  priority?: Priority;
  /** Ends the request with the error `timeout` this many ms after the call, wherever it is then; tokens so far have been given. @default never */
  timeoutMs?: number;
  /** Caller's time of the request (see `Clock`); TTFT counts from it. @default the time `generate` was called */
  calledAtMs?: number;
}

/** What an answer has to be: any JSON object or array, JSON that a JSON Schema allows, or a text of a grammar in xgrammar's EBNF. */
export type OutputGrammar =
  | { type: 'json' }
  | { type: 'json-schema'; schema: Readonly<Record<string, unknown>> }
  | { type: 'ebnf'; grammar: string };

/** `stop`: an end token or stop string; `length`: `maxTokens` or the context was used up. */
export type FinishReason = 'stop' | 'length';

export interface TokenLogprob {
  id: number;
  logprob: number;
  /** What the token stands for in running text; empty for control tokens, absent where an engine does not know it. */
  bytes?: Uint8Array;
}

/** A token by its text, where an engine knows no id of it. */
export interface TextLogprob {
  bytes: Uint8Array;
  logprob: number;
}

/** One output token. Counts and gaps are always of these, never of deltas. */
export interface OutputToken {
  id: number;
  /** When its id was known to the engine (see `Clock`). */
  atMs: number;
  /** Natural log of its probability at temperature 1, before penalties; absent unless asked for. */
  logprob?: number;
  /** The most likely tokens with their log-probabilities, best first; absent unless asked for. */
  topLogprobs?: readonly TokenLogprob[];
  /** In place of `topLogprobs`, from an engine that knows tokens by their text only (a server). */
  topTexts?: readonly TextLogprob[];
  /** What the token stands for in running text; empty for control tokens, absent unless log-probabilities were asked for. */
  bytes?: Uint8Array;
}

export interface Usage {
  promptTokens: number;
  /** Prompt tokens whose KV was not computed but found in a cache. */
  cachedTokens: number;
  /** Sampled tokens, an end token included. */
  completionTokens: number;
  /** `cachedTokens` by where they came from; absent unless an engine with a prefix cache looked for them. */
  cachedByTier?: { memory: number; stored: number };
  /** Of `promptTokens`, those that an answer had before it was cut short; absent unless one was resumed. */
  resumedTokens?: number;
  /** Tokens that were drafted and verified (speculative decoding); absent where none were. Rejected ones are no output and count nowhere else. */
  draftedTokens?: number;
  /** Of `completionTokens`, those that were drafted and turned out right; absent where none were drafted. */
  acceptedTokens?: number;
  /** Counts that the engine has no way to know (a server may not tell them); they are 0. Absent: all are known. */
  unknown?: readonly ('promptTokens' | 'cachedTokens' | 'completionTokens')[];
}

/** What `Engine.generate` yields: one `start`, any number of `delta`, one `end`. An error or abort throws instead. */
export type TokenEvent =
  | {
      type: 'start';
      requestId: string;
      promptTokens: number;
      cachedTokens: number;
      /** The last characters of the prompt, which a template may have written (`<think>`); absent where they are not known. */
      promptTail?: string;
    }
  | {
      type: 'delta';
      /** Valid Unicode text, never a torn character; may be empty while bytes or a possible stop string are held back. */
      text: string;
      /** Tokens sampled since the last delta; empty for a flush of held-back text. */
      tokens: readonly OutputToken[];
      /** Tokens sampled since the last delta, where an engine counts them without knowing their ids; `tokens` is empty then. */
      tokenCount?: number;
    }
  | {
      type: 'end';
      finishReason: FinishReason;
      /** The stop string that matched; absent for an end token. */
      stopString?: string;
      usage: Usage;
      trace: import('./trace.ts').RequestTrace;
    };
