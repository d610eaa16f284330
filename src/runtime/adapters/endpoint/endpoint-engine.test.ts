import { expect } from 'chai';
import type { Engine } from '../../request/engine.ts';
import { answer, rejection } from '../../engine/testing/collect.ts';
import { itl } from '../../metrics/itl.ts';
import { tpot } from '../../metrics/tpot.ts';
import { ttft } from '../../metrics/ttft.ts';
import { createEndpointEngine, type EndpointOptions } from './create-endpoint-engine.ts';
import {
  DONE,
  event,
  FINISHED,
  said,
  scriptedServer,
  type Piece,
  type ScriptedServer,
} from './testing/scripted-server.ts';

const request = { messages: [{ role: 'user' as const, content: 'hi' }], sampling: { temperature: 0 } };
const usage = (prompt: number, completion: number): string =>
  event({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } });

/** A clock that a test moves on. */
function testClock(): { now: () => number; pass: (ms: number) => () => void } {
  let nowMs = 1000;
  return { now: () => nowMs, pass: (ms) => () => void (nowMs += ms) };
}

const engineOn = (server: ScriptedServer, options: Partial<EndpointOptions> = {}): Promise<Engine> =>
  createEndpointEngine({ baseURL: 'http://server/v1/', model: 'm', fetch: server.fetch, maxRetries: 0, ...options });

/** What an engine answers to a stream of these pieces. */
async function answerTo(pieces: readonly Piece[], model?: Record<string, unknown>, options?: Partial<EndpointOptions>) {
  return answer(await engineOn(scriptedServer([{ pieces }], model), options), request);
}

async function failureOf(pieces: readonly Piece[], type?: string, drop?: boolean): Promise<Error & { code?: string }> {
  const server = scriptedServer([{ pieces, ...(type !== undefined && { type }), ...(drop !== undefined && { drop }) }]);
  return rejection(answer(await engineOn(server), request));
}

describe('EndpointEngine', () => {
  it('TTFT: counts to the first text, not to a chunk with the role only', async () => {
    const clock = testClock();
    const role = event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] });
    const pieces = [
      clock.pass(100),
      role,
      clock.pass(50),
      said('Hi'),
      clock.pass(30),
      said('!'),
      FINISHED,
      usage(9, 3),
      DONE,
    ];
    const { text, end } = await answerTo(pieces, {}, { clock });
    expect(text).to.equal('Hi!');
    expect(ttft(end.trace)).to.equal(150);
    expect(end.usage).to.deep.equal({ promptTokens: 9, cachedTokens: 0, completionTokens: 3 });
    expect(tpot(end.trace)).to.equal(30 / 2);
  });

  it('tokens: several in a chunk are counted by the server, and never as one', async () => {
    const clock = testClock();
    const pieces = [
      clock.pass(10),
      said('one two three'),
      clock.pass(40),
      said(' four five'),
      FINISHED,
      usage(4, 5),
      DONE,
    ];
    const { tokens, end } = await answerTo(pieces, {}, { clock });
    expect(tokens, 'ids are not known').to.deep.equal([]);
    expect(end.usage.completionTokens).to.equal(5);
    expect(itl(end.trace), 'gaps of tokens are not known').to.deep.equal([]);
    expect(tpot(end.trace)).to.equal(40 / 4);
  });

  it('tokens: a running count tells how many each chunk has', async () => {
    const counted = (content: string, count: number): string =>
      event({ choices: [{ index: 0, delta: { content } }], timings: { prompt_n: 4, cache_n: 3, predicted_n: count } });
    const engine = await engineOn(
      scriptedServer([{ pieces: [counted('a b', 2), counted(' c', 3), FINISHED, DONE] }], { owned_by: 'llamacpp' }),
    );
    const counts: (number | undefined)[] = [];
    for await (const item of engine.generate(request)) if (item.type === 'delta') counts.push(item.tokenCount);
    expect(counts).to.deep.equal([2, 1]);
  });

  it('logprobs: of vLLM by its ids, of llama.cpp with them, in chat and in text; refused where a server tells no ids', async () => {
    const entry = (token: string, logprob: number, more: object = {}) => ({ token, logprob, ...more });
    const bytes = [...new TextEncoder().encode('\u00e9')];
    const content = [{ ...entry('\u00e9', -0.5, { bytes }), top_logprobs: [entry('\u00e9', -0.5), entry('x', -1)] }];
    const chat = event({
      choices: [{ index: 0, delta: { content: '\u00e9' }, token_ids: [7], logprobs: { content } }],
    });
    const vllm = scriptedServer([{ pieces: [chat, FINISHED, DONE] }], { owned_by: 'vllm' });
    const [token] = (await answer(await engineOn(vllm), { ...request, logprobs: 2 })).tokens;
    expect(token).to.include({ id: 7, logprob: -0.5 });
    expect([...token!.bytes!]).to.deep.equal(bytes);
    expect(token!.topTexts!.map(({ logprob }) => logprob)).to.deep.equal([-0.5, -1]);
    expect(vllm.requests[0]!.body).to.include({ logprobs: true, top_logprobs: 2 });

    const logprobs = { tokens: [' a'], token_logprobs: [-0.1], top_logprobs: [{ ' b': -2, ' a': -0.1 }] };
    const text = event({ choices: [{ index: 0, text: ' a', token_ids: [3], logprobs, finish_reason: 'stop' }] });
    const plain = scriptedServer([{ pieces: [text, DONE] }], { owned_by: 'vllm' });
    const [word] = (await answer(await engineOn(plain), { prompt: 'hi', logprobs: 2 })).tokens;
    expect(word!.topTexts!.map((top) => new TextDecoder().decode(top.bytes))).to.deep.equal([' a', ' b']);
    expect(plain.requests[0]!.body['logprobs']).to.equal(2);

    const withId = { content: [{ ...entry('hi', -0.2, { id: 42 }), top_logprobs: [entry('hi', -0.2, { id: 42 })] }] };
    const llama = scriptedServer([{ pieces: [said('hi', { logprobs: withId }), FINISHED, DONE] }], {
      owned_by: 'llamacpp',
    });
    const [known] = (await answer(await engineOn(llama), { ...request, logprobs: 1 })).tokens;
    expect(known!.topLogprobs![0]).to.include({ id: 42, logprob: -0.2 });
    expect(known!.id).to.equal(42);

    const other = await rejection(answer(await engineOn(scriptedServer([])), { ...request, logprobs: 1 }));
    expect(other.code).to.equal('unsupported');
  });

  it('logprobs, n: through the OpenAI face, each choice a request of its own', async () => {
    const content = [{ token: 'hi', logprob: -0.5, top_logprobs: [{ token: 'hi', logprob: -0.5 }] }];
    const chunk = event({ choices: [{ index: 0, delta: { content: 'hi' }, token_ids: [7], logprobs: { content } }] });
    const reply = { pieces: [chunk, FINISHED, usage(3, 1), DONE] };
    const server = scriptedServer([reply, { ...reply }], { owned_by: 'vllm' });
    const engine = await createEndpointEngine({ baseURL: 'http://server/v1', model: 'm', fetch: server.fetch });
    const asked = {
      model: 'm',
      messages: [{ role: 'user' as const, content: 'hi' }],
      n: 2,
      logprobs: true,
      top_logprobs: 1,
    };
    const { choices } = await engine.chat.completions.create(asked);
    expect(choices.map(({ message }) => message.content)).to.deep.equal(['hi', 'hi']);
    for (const { logprobs } of choices)
      expect(logprobs?.content[0]).to.deep.include({ token: 'hi', logprob: -0.5, bytes: [104, 105] });
    expect(server.requests).to.have.length(2);
    for (const { body } of server.requests) expect(body).not.to.have.property('n');
  });

  it('usage: where the server tells none, it is named as unknown', async () => {
    const { text, end } = await answerTo([said('Hi'), FINISHED, DONE]);
    expect(text).to.equal('Hi');
    expect(end.usage.unknown).to.deep.equal(['promptTokens', 'cachedTokens', 'completionTokens']);
    expect(tpot(end.trace)).to.equal(undefined);
  });

  it('text: half a character per chunk, and events cut anywhere', async () => {
    const bytes = new TextEncoder().encode(said('h\u00e9llo \ud83d\ude00') + FINISHED + DONE);
    const { text } = await answerTo(Array.from(bytes, (byte) => Uint8Array.of(byte)));
    expect(text).to.equal('h\u00e9llo \ud83d\ude00');
  });

  it('text: an answer that is not streamed is one delta', async () => {
    const whole = {
      choices: [{ message: { content: 'Hi' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    };
    const { text, end } = await answer(await engineOn(scriptedServer([Response.json(whole)])), request);
    expect([text, end.finishReason, end.usage.completionTokens]).to.deep.equal(['Hi', 'length', 2]);
  });

  it('text: thoughts and tool calls that come apart become text as models write it', async () => {
    const delta = (fields: object): string => event({ choices: [{ index: 0, delta: fields }] });
    const { text } = await answerTo([
      delta({ reasoning_content: 'Hm.' }),
      delta({ tool_calls: [{ index: 0, id: 'x', function: { name: 'add', arguments: '{"a"' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: ': 1}' } }] }),
      event({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
      DONE,
    ]);
    expect(text).to.equal(
      '<think>\nHm.\n</think>\n\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>\n',
    );
  });

  it('errors: a connection that breaks, one that closes early, an error in the stream, a web page', async () => {
    const dropped = await failureOf([said('Hi')], undefined, true);
    expect([dropped.code, /connection broke/.test(dropped.message)]).to.deep.equal(['network', true]);
    expect((await failureOf([said('Hi')])).message).to.contain('closed the connection');
    const told = await failureOf([said('Hi'), event({ error: { message: 'out of memory', code: 'oom' } })]);
    expect([told.code, told.message.includes('out of memory')]).to.deep.equal(['network', true]);
    expect((await failureOf(['<!doctype html><p>Hi'], 'text/html')).message).to.contain('web page');
    expect((await failureOf([event('<html>')])).message).to.contain('web page');
    expect((await failureOf([event('{"choices": [')])).message).to.contain('no JSON');
  });

  it('errors: what arrived before a break is delivered, and nothing is asked again', async () => {
    const server = scriptedServer([{ pieces: [said('Hi')], drop: true }]);
    const engine = await engineOn(server, { maxRetries: 5, sleep: () => Promise.resolve() });
    let text = '';
    const read = async (): Promise<void> => {
      for await (const item of engine.generate(request)) if (item.type === 'delta') text += item.text;
    };
    expect((await rejection(read())).code).to.equal('network');
    expect(text).to.equal('Hi');
    expect(server.requests).to.have.length(1);
  });

  it('keys: what a server sends back of a key or a header is in no message and no detail', async () => {
    const apiKey = 'sk-secret-0123456789';
    const headers = { 'X-Team': 'team-secret-42' };
    const echo = { error: { message: `Bearer ${apiKey} of team-secret-42 is bad`, code: apiKey, param: apiKey } };
    const replies = [
      new Response(JSON.stringify(echo), { status: 401 }),
      new Response(`no ${apiKey}`, { status: 500 }),
      { pieces: [said('a'), event(echo)] },
      { pieces: [event({ error: `no ${apiKey}` })] },
    ];
    for (const reply of replies) {
      const engine = await engineOn(scriptedServer([reply]), { apiKey, headers });
      const error = await rejection(answer(engine, request));
      const told = `${error.message} ${JSON.stringify((error as { details?: unknown }).details)} ${String(error.stack)}`;
      expect(told).to.include('[key]');
      expect(told).not.to.match(/sk-secret|team-secret/);
    }
  });

  it('keys: a redirect is an error that names where it leads, and nothing is sent there', async () => {
    const asked: string[] = [];
    const fetch = (url: string, init: RequestInit): Promise<Response> => {
      asked.push(url);
      expect(init.redirect).to.equal('manual');
      if (url.endsWith('/models')) return Promise.resolve(Response.json({ data: [{ id: 'm' }] }));
      return Promise.resolve(
        new Response(null, { status: 307, headers: { Location: 'https://evil.example/v1/chat/completions' } }),
      );
    };
    const engine = await createEndpointEngine({
      baseURL: 'http://server/v1',
      model: 'm',
      fetch,
      apiKey: 'sk-secret-1',
    });
    const error = await rejection(answer(engine, request));
    expect(error).to.have.property('code', 'network');
    expect(error.message).to.include('server redirects to https://evil.example').and.not.to.include('sk-secret');
    expect(asked).to.deep.equal(['http://server/v1/models', 'http://server/v1/chat/completions']);
  });

  it('errors: a 401 says to give another key, a 429 without attempts left says to wait', async () => {
    const failed = async (response: Response): Promise<Error> =>
      rejection(answer(await engineOn(scriptedServer([response])), request));
    expect((await failed(new Response('{}', { status: 401 }))).message).to.include('refuses the key');
    const busy = new Response('', { status: 429, headers: { 'Retry-After': '7' } });
    expect((await failed(busy)).message).to.include('too many requests');
  });

  it('errors: each status has its code', async () => {
    const code = async (status: number, body: object | string = {}): Promise<string | undefined> => {
      const response = new Response(typeof body === 'string' ? body : JSON.stringify(body), { status });
      return (await rejection(answer(await engineOn(scriptedServer([response])), request))).code;
    };
    expect(await code(401, { error: { message: 'bad key' } })).to.equal('network');
    expect(await code(404)).to.equal('model-not-found');
    expect(await code(400, { error: { message: 'no such role', param: 'messages' } })).to.equal('invalid-request');
    expect(await code(400, { error: { type: 'exceed_context_size_error', n_ctx: 8, n_prompt_tokens: 9 } })).to.equal(
      'context-overflow',
    );
    expect(await code(429)).to.equal('queue-full');
    expect(await code(500, '<html>')).to.equal('network');
  });

  it('retry: waits as the server asks after a 429, and by itself after a 503; that is time in the queue', async () => {
    const clock = testClock();
    const waits: number[] = [];
    const server = scriptedServer([
      new Response('', { status: 429, headers: { 'Retry-After': '3' } }),
      new Response('', { status: 503 }),
      { pieces: [clock.pass(20), said('Hi'), FINISHED, DONE] },
    ]);
    const sleep = (ms: number): Promise<void> => {
      waits.push(ms);
      clock.pass(ms)();
      return Promise.resolve();
    };
    const { text, end } = await answer(await engineOn(server, { clock, sleep, maxRetries: 2 }), request);
    expect(text).to.equal('Hi');
    expect(waits).to.deep.equal([3000, 1000]);
    const { calledMs, startedMs } = end.trace.marks;
    expect(startedMs! - calledMs).to.equal(4000);
    expect(ttft(end.trace)).to.equal(4020);
  });

  it('retry: is given up when there are no attempts left, when the wait is long, and for what will not pass', async () => {
    const busy = (after: string): Response => new Response('', { status: 429, headers: { 'Retry-After': after } });
    const sleep = (): Promise<void> => Promise.resolve();
    const asked = async (...replies: Response[]): Promise<number> => {
      const server = scriptedServer(replies);
      await rejection(answer(await engineOn(server, { sleep, maxRetries: 1 }), request));
      return server.requests.length;
    };
    expect(await asked(busy('1'), busy('1'), busy('1'))).to.equal(2);
    expect(await asked(busy('3600'), busy('1'))).to.equal(1);
    expect(await asked(new Response('', { status: 400 }))).to.equal(1);
  });

  it('apiKey: goes with every request, and is in nothing that the engine shows', async () => {
    const server = scriptedServer([new Response('{"error":"no"}', { status: 401 })]);
    const engine = await engineOn(server, { apiKey: 'sk-secret' });
    const error = await rejection(answer(engine, request));
    expect(server.requests[0]!.headers['Authorization']).to.equal('Bearer sk-secret');
    const shown = JSON.stringify([engine, engine.info, error, Object.entries(error), error.message, error.stack]);
    expect(shown).not.to.contain('sk-secret');
  });

  it('request: says only what the server knows, and refuses the rest', async () => {
    const server = scriptedServer([{ pieces: [said('Hi'), FINISHED, DONE] }]);
    const engine = await engineOn(server);
    await answer(engine, { ...request, maxTokens: 5, sampling: { temperature: 1, seed: 3, topK: 0 } });
    const { messages, stream_options, ...rest } = server.requests[0]!.body;
    expect(messages).to.deep.equal([{ role: 'user', content: 'hi' }]);
    expect(stream_options).to.deep.equal({ include_usage: true });
    expect(rest).to.deep.equal({ model: 'm', stream: true, temperature: 1, seed: 3, max_tokens: 5 });
    const error = await rejection(answer(engine, { ...request, sampling: { topK: 5 } }));
    expect(error.code).to.equal('unsupported');
    expect((await rejection(engine.countTokens({ prompt: 'hi' }))).code).to.equal('unsupported');
  });
});

describe('createEndpointEngine', () => {
  it('create: a model that the server does not list, a server that is not there, a wrong URL', async () => {
    const { fetch } = scriptedServer([]);
    const base = { baseURL: 'http://server/v1', maxRetries: 0 };
    expect((await rejection(createEndpointEngine({ ...base, model: 'other', fetch }))).code).to.equal(
      'model-not-found',
    );
    const nowhere = (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'));
    expect((await rejection(createEndpointEngine({ ...base, model: 'm', fetch: nowhere }))).code).to.equal('network');
    expect(await rejection(createEndpointEngine({ ...base, baseURL: 'http://', model: 'm', fetch }))).to.be.instanceOf(
      TypeError,
    );
  });

  it('info: names what the server does not tell', async () => {
    const { info } = await engineOn(scriptedServer([], { owned_by: 'vllm', max_model_len: 4096 }));
    expect([info.engine, info.version, info.model.id, info.model.contextTokens]).to.deep.equal([
      'endpoint',
      'vllm',
      'm',
      4096,
    ]);
    expect(info.model.unknown).to.include('layers').and.not.to.include('contextTokens');
    expect(info.reason).to.contain('server');
  });
});
