import { systemClock } from '../../../shared/clock.ts';
import type { Engine } from '../../request/engine.ts';
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from './chat-shapes.ts';
import { nowSeconds } from './head.ts';

/** Chunks of a streamed answer. Leaving the loop, or `controller.abort()`, ends the generation. */
export interface ChatCompletionStream extends AsyncIterable<ChatCompletionChunk> {
  readonly controller: AbortController;
}

export interface ChatCompletions {
  /**
   * Answers a chat as OpenAI's API does.
   *
   * @throws TokenglassError before the first chunk for a wrong parameter (`invalid-request`, `unsupported`, `model-not-found`; `details.field` is
   *   the parameter), `context-overflow`, or what {@link Engine.generate} throws; `AbortError` once `signal` is aborted
   * @example
   * ```ts
   * const answer = await engine.chat.completions.create({ messages: [{ role: 'user', content: 'What is TTFT?' }] });
   * console.log(answer.choices[0]?.message.content, answer.usage.tokenglass);
   * ```
   */
  create(
    request: ChatCompletionRequest & { stream: true },
    options?: { signal?: AbortSignal },
  ): Promise<ChatCompletionStream>;
  create(
    request: ChatCompletionRequest & { stream?: false | null },
    options?: { signal?: AbortSignal },
  ): Promise<ChatCompletion>;
}

/** The OpenAI face of an engine. */
export interface OpenAiFace {
  readonly chat: { readonly completions: ChatCompletions };
  /**
   * For clients of OpenAI's API: give it to them as their `fetch`, with any base URL that ends in `/v1`. Nothing goes over the network.
   *
   * @example
   * ```ts
   * const client = new OpenAI({ baseURL: 'http://localhost/v1', apiKey: 'local', fetch: engine.fetch, dangerouslyAllowBrowser: true });
   * ```
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;
}

/** The OpenAI face of any engine. Its code is loaded with the first request. */
export function createOpenAi(engine: Engine): OpenAiFace {
  const createdAt = nowSeconds();
  const create = async (
    request: ChatCompletionRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<ChatCompletion | ChatCompletionStream> => {
    const calledAtMs = systemClock.now();
    const { startChat } = await import('./chat.ts');
    const { stream, chunks, whole, controller } = await startChat(engine, request, {
      calledAtMs,
      ...(signal && { signal }),
    });
    if (!stream) return whole();
    const pieces = chunks();
    return { controller, [Symbol.asyncIterator]: () => pieces };
  };
  return {
    chat: { completions: { create: create as ChatCompletions['create'] } },
    fetch: async (input, init) => {
      const calledAtMs = systemClock.now();
      const { handleFetch } = await import('./fetch-handler.ts');
      return handleFetch({ engine, createdAt, calledAtMs }, input, init);
    },
  };
}

/** Gives an engine its OpenAI face: `engine.chat.completions.create` and `engine.fetch`. */
export const withOpenAi = <Given extends Engine>(engine: Given): Given & OpenAiFace =>
  Object.assign(engine, createOpenAi(engine));
