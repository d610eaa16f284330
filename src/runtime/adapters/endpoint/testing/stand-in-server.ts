import type { GenerateRequest, TokenEvent } from '../../../../shared/generation.ts';
import type { Engine } from '../../../request/engine.ts';
import type { Fetch } from '../send.ts';

interface Body {
  messages?: GenerateRequest['messages'];
  prompt?: string | number[];
  temperature?: number;
  top_p?: number;
  top_k?: number;
  seed?: number;
  stop?: string[];
  stop_token_ids?: number[];
  max_tokens?: number;
  ignore_eos?: boolean;
}

/**
 * A server in the way of vLLM, over an engine: `fetch` for requests to `http://stand-in/v1`. It knows nothing of our OpenAI face, and no more
 * than the endpoint engine has to send.
 */
export function standInServer(engine: Engine): Fetch {
  return async (url, { body, signal }) => {
    const path = new URL(url).pathname;
    if (path === '/v1/models') {
      const { contextTokens } = engine.info.model;
      return Response.json({ data: [{ id: 'stand-in', owned_by: 'vllm', max_model_len: contextTokens }] });
    }
    const asked = JSON.parse(body as string) as Body;
    if (path === '/tokenize') return Response.json({ count: await engine.countTokens(asked as { prompt: string }) });
    return answer(engine, asked, path === '/v1/chat/completions', signal!);
  };
}

async function answer(engine: Engine, asked: Body, isChat: boolean, signal: AbortSignal): Promise<Response> {
  const leave = new AbortController();
  const answers = engine.generate(toRequest(asked), AbortSignal.any([signal, leave.signal]));
  const events = answers[Symbol.asyncIterator]() as AsyncIterator<TokenEvent, undefined>;
  try {
    const first = await events.next();
    return new Response(eventStream(events, first.value as TokenEvent, isChat, leave), {
      headers: { 'Content-Type': 'text/event-stream' },
    });
  } catch (error) {
    signal.throwIfAborted();
    const { code, details, message } = error as Error & { code: string; details: Record<string, number> };
    if (code !== 'context-overflow') return Response.json({ error: { message } }, { status: 500 });
    const words = `This model's maximum context length is ${details['contextTokens']} tokens. However, you requested ${details['promptTokens']! + 1} tokens (${details['promptTokens']} in the messages, 1 in the completion).`;
    return Response.json(
      { error: { message: words, type: 'BadRequestError', param: null, code: 400 } },
      { status: 400 },
    );
  }
}

function toRequest(asked: Body): GenerateRequest {
  const { messages, prompt, temperature = 0, top_p: topP, top_k: topK, seed } = asked;
  return {
    ...(messages && { messages }),
    ...(typeof prompt === 'string' ? { prompt } : prompt && { promptTokens: prompt }),
    sampling: {
      temperature,
      ...(topP !== undefined && { topP }),
      ...(topK !== undefined && { topK }),
      ...(seed !== undefined && { seed }),
    },
    ...(asked.stop && { stop: asked.stop }),
    ...(asked.stop_token_ids && { stopTokenIds: asked.stop_token_ids }),
    ...(asked.max_tokens !== undefined && { maxTokens: asked.max_tokens }),
    ...(asked.ignore_eos !== undefined && { ignoreEos: asked.ignore_eos }),
  };
}

function eventStream(
  events: AsyncIterator<TokenEvent, undefined>,
  start: TokenEvent,
  isChat: boolean,
  leave: AbortController,
): ReadableStream<Uint8Array> {
  const utf8 = new TextEncoder();
  const promptTokens = start.type === 'start' ? start.promptTokens : 0;
  let completionTokens = 0;
  const event = (choice: object | undefined): Uint8Array => {
    const usage = { prompt_tokens: promptTokens, completion_tokens: completionTokens };
    return utf8.encode(`data: ${JSON.stringify({ choices: choice ? [{ index: 0, ...choice }] : [], usage })}\n\n`);
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (isChat) controller.enqueue(event({ delta: { role: 'assistant', content: '' } }));
    },
    async pull(controller) {
      const { done, value } = await events.next();
      if (done === true) {
        controller.enqueue(utf8.encode('data: [DONE]\n\n'));
        controller.close();
      } else if (value.type === 'delta') {
        completionTokens += value.tokens.length;
        const said = isChat ? { delta: { content: value.text } } : { text: value.text };
        controller.enqueue(event({ ...said, token_ids: value.tokens.map(({ id }) => id) }));
      } else if (value.type === 'end') {
        const said = isChat ? { delta: {} } : { text: '' };
        controller.enqueue(
          event({ ...said, finish_reason: value.finishReason, stop_reason: value.stopString ?? null, token_ids: [] }),
        );
        controller.enqueue(event(undefined));
      }
    },
    cancel: () => leave.abort(),
  });
}
