import type { FinishReason, Usage } from '../../../shared/generation.ts';
import { readLogprobs, type ServerLogprobs, type ToldToken } from './read-logprobs.ts';
import { errorInStream } from './server-error.ts';

/** What a chunk of a stream says; whatever it does not say is absent. */
export interface ChunkNews {
  text: string;
  /** Ids of its tokens. */
  ids?: readonly number[];
  /** Tokens of the answer so far, where the server tells it as it goes. */
  completionTokens?: number;
  /** Of its tokens, where they were asked for. */
  logprobs?: readonly ToldToken[];
}

interface Chunk {
  error?: unknown;
  choices?: readonly Choice[];
  usage?: ServerUsage | null;
  timings?: { prompt_n?: number; cache_n?: number; predicted_n?: number } | null;
}

interface Choice {
  /** Of chat; `message` in an answer that is not streamed. */
  delta?: Delta | null;
  message?: Delta | null;
  /** Of text completions. */
  text?: string | null;
  finish_reason?: string | null;
  /** vLLM: the stop string or id that ended the answer. */
  stop_reason?: string | number | null;
  /** vLLM, with `return_token_ids`. */
  token_ids?: readonly number[] | null;
  logprobs?: ServerLogprobs | null;
}

interface Delta {
  content?: string | null;
  /** DeepSeek's name, and llama.cpp's; vLLM's newer one. */
  reasoning_content?: string | null;
  reasoning?: string | null;
  tool_calls?:
    readonly { index?: number; function?: { name?: string | null; arguments?: string | null } | null }[] | null;
}

interface ServerUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null } | null;
}

/**
 * Reads the chunks of one answer. Thoughts and tool calls, which servers send apart, become the text that models write
 * (`<think>`, `<tool_call>`), so that they are text of the answer as with every other engine.
 */
export class ChunkReader {
  /** Absent until the server has told. */
  finishReason: FinishReason | undefined;
  stopString: string | undefined;
  /** What the server has counted; absent fields were never told. */
  readonly usage: Partial<Usage> = {};
  readonly #redact: (text: string) => string;
  #part: 'none' | 'thoughts' | 'content' | 'call' = 'none';
  #call = -1;

  /** @param redact takes keys out of errors of the server */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  /** @throws TokenglassError `network` for an error in the stream */
  read(data: unknown): ChunkNews {
    const chunk = (typeof data === 'object' && data !== null ? data : {}) as Chunk;
    if (chunk.error !== undefined && chunk.error !== null) throw errorInStream(chunk.error, this.#redact);
    this.#readUsage(chunk);
    const choice = chunk.choices?.[0];
    const running = chunk.usage?.completion_tokens ?? chunk.timings?.predicted_n;
    const told = typeof running === 'number' ? { completionTokens: running } : {};
    if (!choice) return { text: '', ...told };
    const text = this.#textOf(choice);
    const closing = this.#readFinish(choice);
    const logprobs = readLogprobs(choice.logprobs);
    // llama.cpp tells ids with log-probabilities only.
    const ids = choice.token_ids ?? idsOf(logprobs);
    return {
      text: text + closing,
      ...(Array.isArray(ids) && { ids: ids as number[] }),
      ...told,
      ...(logprobs.length > 0 && { logprobs }),
    };
  }

  #readUsage({ usage, timings }: Chunk): void {
    const promptTokens = usage?.prompt_tokens ?? sum(timings?.prompt_n, timings?.cache_n);
    const cachedTokens = usage?.prompt_tokens_details?.cached_tokens ?? timings?.cache_n;
    const completionTokens = usage?.completion_tokens ?? timings?.predicted_n;
    if (typeof promptTokens === 'number') this.usage.promptTokens = promptTokens;
    if (typeof cachedTokens === 'number') this.usage.cachedTokens = cachedTokens;
    if (typeof completionTokens === 'number') this.usage.completionTokens = completionTokens;
  }

  #textOf({ delta, message, text }: Choice): string {
    if (typeof text === 'string') return text;
    const said = delta ?? message;
    const thoughts = said?.reasoning_content ?? said?.reasoning ?? '';
    let out = thoughts === '' ? '' : this.#enter('thoughts') + thoughts;
    const content = said?.content ?? '';
    if (content !== '') out += this.#enter('content') + content;
    for (const { index = 0, function: called } of said?.tool_calls ?? []) {
      if (this.#part !== 'call' || index !== this.#call) {
        out += this.#enter('none') + this.#enter('call');
        this.#call = index;
        out += `{"name": ${JSON.stringify(called?.name ?? '')}, "arguments": `;
      }
      out += called?.arguments ?? '';
    }
    return out;
  }

  /** What stands between two parts. */
  #enter(part: 'none' | 'thoughts' | 'content' | 'call'): string {
    if (part === this.#part) return '';
    const left = { none: '', thoughts: '\n</think>\n\n', content: '', call: '}\n</tool_call>\n' }[this.#part];
    this.#part = part;
    return left + { none: '', thoughts: '<think>\n', content: '', call: '<tool_call>\n' }[part];
  }

  /** @returns text that closes what is open */
  #readFinish({ finish_reason: reason, stop_reason: stopReason }: Choice): string {
    if (typeof reason !== 'string') return '';
    this.finishReason = reason === 'length' ? 'length' : 'stop';
    if (typeof stopReason === 'string') this.stopString = stopReason;
    return this.finishReason === 'stop' ? this.#enter('none') : '';
  }
}

function idsOf(tokens: readonly ToldToken[]): number[] | undefined {
  const ids = tokens.flatMap(({ id }) => id ?? []);
  return tokens.length > 0 && ids.length === tokens.length ? ids : undefined;
}

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? undefined : a + (b ?? 0);
