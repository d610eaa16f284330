import { expect } from 'chai';
import { isTokenglassError } from '../../../shared/errors.ts';
import { createFakeEngine } from '../../engine/testing/fake-engine.ts';
import { answer, rejection } from '../../engine/testing/collect.ts';
import { endless } from '../../engine/testing/requests.ts';
import type { ApiErrorBody } from './api-error.ts';
import type { ChatCompletion, ChatCompletionRequest } from './chat-shapes.ts';
import { withOpenAi } from './create-openai.ts';
import { MALFORMED_BODIES } from './testing/malformed-bodies.ts';

const messages = [{ role: 'user' as const, content: 'hi' }];
const url = 'http://localhost/v1/chat/completions';
const post = (body: string): RequestInit => ({ method: 'POST', body });

describe('fetch', () => {
  it(`fetch: ${MALFORMED_BODIES.length} malformed bodies each give a 4xx that names the parameter, and the next request works`, async () => {
    const engine = withOpenAi(createFakeEngine().engine);
    const { text } = await answer(engine, { messages, maxTokens: 5 });
    const wrong: string[] = [];
    for (const [param, body] of MALFORMED_BODIES) {
      const response = await engine.fetch(url, post(JSON.stringify(body)));
      const { error } = (await response.json()) as ApiErrorBody;
      if (response.status < 400 || response.status > 499 || error.param !== param || error.type === 'server_error')
        wrong.push(`${param}: ${response.status} ${JSON.stringify(error)}`);
      const next = await engine.fetch(url, post(JSON.stringify({ messages, max_tokens: 5 })));
      if (((await next.json()) as ChatCompletion).choices[0]!.message.content !== text) wrong.push(`after ${param}`);
    }
    expect(wrong).to.deep.equal([]);
    await engine[Symbol.asyncDispose]();
  });

  it('fetch: what is no JSON, the wrong method and an unknown path are told', async () => {
    const engine = withOpenAi(createFakeEngine().engine);
    const status = async (path: string, init?: RequestInit): Promise<number> =>
      (await engine.fetch(`http://localhost${path}`, init)).status;
    expect(await status('/v1/chat/completions', post('{'))).to.equal(400);
    expect(await status('/v1/chat/completions')).to.equal(405);
    expect(await status('/v1/nowhere')).to.equal(404);
    expect(await status('/v1/models', post('{}'))).to.equal(405);
    await engine[Symbol.asyncDispose]();
  });

  it('fetch: takes a Request, a relative URL and a base URL with a path before /v1', async () => {
    const engine = withOpenAi(createFakeEngine().engine);
    const body = JSON.stringify({ messages, max_tokens: 2 });
    const inputs: [RequestInfo | URL, RequestInit?][] = [
      [new Request(url, post(body))],
      ['/v1/chat/completions', post(body)],
      [new URL('https://example.org/api/v1/chat/completions'), post(body)],
    ];
    for (const [input, init] of inputs) expect((await engine.fetch(input, init)).status).to.equal(200);
    await engine[Symbol.asyncDispose]();
  });

  it('fetch: an aborted signal rejects with AbortError; an engine that is gone is a 503', async () => {
    const engine = withOpenAi(createFakeEngine({ nextToken: endless, completion: 'task' }).engine);
    const controller = new AbortController();
    const running = rejection(engine.fetch(url, { ...post(JSON.stringify({ messages })), signal: controller.signal }));
    controller.abort();
    expect((await running).name).to.equal('AbortError');
    await engine[Symbol.asyncDispose]();
    expect((await engine.fetch(url, post(JSON.stringify({ messages })))).status).to.equal(503);
  });

  it('fetch: an answer that is aborted without the caller is a 499, and in a stream an event that says so', async () => {
    const { engine } = createFakeEngine({ nextToken: endless, completion: 'task' });
    const abort = new DOMException('Cannot go on: the request was aborted', 'AbortError');
    const face = withOpenAi({
      info: engine.info,
      metrics: engine.metrics,
      countTokens: (input) => engine.countTokens(input),
      dispose: () => engine.dispose(),
      [Symbol.asyncDispose]: () => engine.dispose(),
      async *generate(request, signal) {
        let events = 0;
        for await (const event of engine.generate(request, signal)) {
          if (events++ === 3) throw abort;
          yield event;
        }
      },
    });
    const whole = await face.fetch(url, post(JSON.stringify({ messages })));
    expect(whole.status).to.equal(499);
    const { error } = (await whole.json()) as ApiErrorBody;
    expect(error).to.include({ type: 'request_aborted', code: 'request_aborted', param: null });
    const streamed = await face.fetch(url, post(JSON.stringify({ messages, stream: true })));
    expect(streamed.status).to.equal(200);
    const last = (await streamed.text()).trimEnd().split('\n\n').at(-1)!;
    expect(JSON.parse(last.slice('data: '.length))).to.deep.equal({ error });
    await engine[Symbol.asyncDispose]();
  });

  it('fetch: a stream whose reader goes away stops the engine', async () => {
    const { engine, backend } = createFakeEngine({ contextTokens: 4096, nextToken: endless, completion: 'task' });
    const { fetch } = withOpenAi(engine);
    const response = await fetch(url, post(JSON.stringify({ messages, stream: true })));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    const { text } = await answer(engine, { messages, maxTokens: 3 });
    expect(text).to.equal('xxx');
    expect(backend.given.length).to.be.lessThan(40);
    await engine[Symbol.asyncDispose]();
  });
});

describe('chat.completions.create', () => {
  it('create: throws before the first chunk, with the parameter in details.field', async () => {
    const engine = withOpenAi(createFakeEngine().engine);
    const error = await rejection(engine.chat.completions.create({ messages, temperature: 9, stream: true }));
    expect(isTokenglassError(error, 'invalid-request')).to.equal(true);
    expect((error as Error & { details: unknown }).details).to.deep.equal({ field: 'temperature' });
    await engine[Symbol.asyncDispose]();
  });

  it('create: its stream can be ended by its controller before and while it is read', async () => {
    const engine = withOpenAi(createFakeEngine({ nextToken: endless, completion: 'task' }).engine);
    const request = { messages, stream: true } satisfies ChatCompletionRequest;
    const unread = await engine.chat.completions.create(request);
    unread.controller.abort();
    const stream = await engine.chat.completions.create(request);
    const read = async (): Promise<void> => {
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'x') stream.controller.abort();
    };
    expect((await rejection(read())).name).to.equal('AbortError');
    const next = await engine.chat.completions.create({ messages, max_tokens: 2 });
    expect(next.choices[0]!.message.content).to.equal('xx');
    await engine[Symbol.asyncDispose]();
  });

  it('create: a format of the answer is refused where the engine has no grammars', async () => {
    const engine = withOpenAi(createFakeEngine().engine);
    const format = { messages, response_format: { type: 'json_object' } } satisfies ChatCompletionRequest;
    expect((await rejection(engine.chat.completions.create(format))).code).to.equal('unsupported');
    await engine[Symbol.asyncDispose]();
  });
});
