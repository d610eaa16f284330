import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import { expect } from 'chai';
import OpenAI, { APIError, APIUserAbortError } from 'openai';
import { createFakeEngine } from '../../engine/testing/fake-engine.ts';
import { bytesOf } from '../../engine/testing/byte-tokenizer.ts';
import { endless } from '../../engine/testing/requests.ts';
import { scriptedTokens } from '../../engine/testing/next-token.ts';
import { answer } from '../../engine/testing/collect.ts';
import type { Engine } from '../../request/engine.ts';
import type { RequestTimings } from './usage.ts';
import { withOpenAi } from './create-openai.ts';

const messages = [{ role: 'user' as const, content: 'What is TTFT?' }];
const model = 'fake';

function clientOf(engine: Engine): OpenAI {
  const { fetch } = withOpenAi(engine);
  return new OpenAI({
    baseURL: 'http://localhost/v1',
    apiKey: 'local',
    fetch,
    dangerouslyAllowBrowser: true,
    maxRetries: 0,
  });
}

async function apiError(promise: Promise<unknown>): Promise<APIError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error('expected an error of the API');
}

describe('openai client', () => {
  it('create: gives the text and usage that the engine gives', async () => {
    const { engine } = createFakeEngine({ contextTokens: 4096 });
    const direct = await answer(engine, { messages, maxTokens: 20 });
    const completion = await clientOf(engine).chat.completions.create({ model, messages, max_completion_tokens: 20 });
    expect(completion.choices[0]!.message.content).to.equal(direct.text);
    expect(completion.choices[0]!.finish_reason).to.equal(direct.end.finishReason);
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = completion.usage!;
    expect(prompt_tokens).to.equal(direct.end.usage.promptTokens);
    expect(completion_tokens).to.equal(direct.ids.length);
    expect(total_tokens).to.equal(prompt_tokens + completion_tokens);
    expect(prompt_tokens_details).to.deep.equal({ cached_tokens: 0 });
    const { tokenglass } = completion.usage as unknown as { tokenglass: RequestTimings };
    expect(tokenglass.ttft_ms).to.be.a('number');
    await engine[Symbol.asyncDispose]();
  });

  it('create: streams the same text, the usage last', async () => {
    const { engine } = createFakeEngine({ contextTokens: 4096 });
    const direct = await answer(engine, { messages, maxTokens: 20 });
    const stream = await clientOf(engine).chat.completions.create({
      model,
      messages,
      max_completion_tokens: 20,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).to.equal(direct.text);
    expect(chunks[0]!.choices[0]!.delta.role).to.equal('assistant');
    expect(chunks.length).to.be.greaterThan(5);
    expect(chunks.at(-1)!.choices).to.deep.equal([]);
    expect(chunks.at(-1)!.usage!.completion_tokens).to.equal(direct.ids.length);
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).to.equal(true);
    expect(new Set(chunks.map(({ id }) => id)).size).to.equal(1);
    await engine[Symbol.asyncDispose]();
  });

  it('create: aborted through its controller the stream ends, the engine stops and the next request works', async () => {
    const { engine, backend } = createFakeEngine({ contextTokens: 4096, nextToken: endless, completion: 'task' });
    const client = clientOf(engine);
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    let text = '';
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      if (text.length >= 3) stream.controller.abort();
    }
    expect(text.length).to.be.lessThan(20);
    const next = await client.chat.completions.create({ model, messages, max_completion_tokens: 3 });
    expect(next.choices[0]!.message.content).to.equal('xxx');
    expect(backend.openSequences).to.equal(0);
    await engine[Symbol.asyncDispose]();
  });

  it('create: a signal that is aborted rejects with the abort error of the client', async () => {
    const { engine } = createFakeEngine({ nextToken: endless, completion: 'task' });
    const controller = new AbortController();
    const running = clientOf(engine)
      .chat.completions.create({ model, messages }, { signal: controller.signal })
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    controller.abort();
    expect(await running).to.be.instanceOf(APIUserAbortError);
    await engine[Symbol.asyncDispose]();
  });

  it('create: errors have the status, code and param of OpenAI', async () => {
    const { engine } = createFakeEngine({ contextTokens: 64 });
    const { completions } = clientOf(engine).chat;
    const bad = await apiError(completions.create({ model, messages, temperature: -1 }));
    expect([bad.status, bad.type, bad.param]).to.deep.equal([400, 'invalid_request_error', 'temperature']);
    const other = await apiError(completions.create({ model: 'gpt-4', messages }));
    expect([other.status, other.code, other.param]).to.deep.equal([404, 'model_not_found', 'model']);
    const long = await apiError(completions.create({ model, messages: [{ role: 'user', content: 'x'.repeat(200) }] }));
    expect([long.status, long.code]).to.deep.equal([400, 'context_length_exceeded']);
    const streamed = await apiError(completions.create({ model, messages, stream: true, top_p: 7 }));
    expect([streamed.status, streamed.param]).to.deep.equal([400, 'top_p']);
    await engine[Symbol.asyncDispose]();
  });

  it('create: an error in the middle of a stream comes out of its iteration', async () => {
    const { engine } = createFakeEngine({
      nextToken: endless,
      failStep: (step) => (step === 5 ? new RangeError('the fifth step of this test') : undefined),
    });
    const stream = await clientOf(engine).chat.completions.create({ model, messages, stream: true });
    const read = async (): Promise<void> => {
      for await (const chunk of stream) expect(chunk.choices).to.have.length(1);
    };
    expect((await apiError(read())).message).to.contain('the fifth step of this test');
    await engine[Symbol.asyncDispose]();
  });

  it('create: n=2 with a seed gives two answers, the second that of the next seed', async () => {
    const { engine } = createFakeEngine({ contextTokens: 4096 });
    const sampled = async (seed: number) =>
      (await answer(engine, { messages, maxTokens: 12, sampling: { temperature: 1, seed } })).text;
    const expected = [await sampled(4), await sampled(5)];
    const request = { model, messages, max_tokens: 12, temperature: 1, seed: 4, n: 2 };
    const client = clientOf(engine);
    const whole = await client.chat.completions.create(request);
    expect(whole.choices.map(({ message }) => message.content)).to.deep.equal(expected);
    const texts = ['', ''];
    for await (const { choices } of await client.chat.completions.create({ ...request, stream: true }))
      for (const { index, delta } of choices) texts[index] = texts[index]! + (delta.content ?? '');
    expect(texts).to.deep.equal(expected);
    expect(whole.usage!.completion_tokens).to.be.greaterThan(12);
    await engine[Symbol.asyncDispose]();
  });

  it('create: logprobs name each token with its bytes, and join to the text', async () => {
    const { engine } = createFakeEngine({ nextToken: scriptedTokens(bytesOf('h\u00e9!')) });
    const whole = await clientOf(engine).chat.completions.create({ model, messages, logprobs: true, top_logprobs: 2 });
    const { content } = whole.choices[0]!.logprobs!;
    expect(content!.flatMap(({ bytes }) => bytes!)).to.deep.equal(bytesOf('h\u00e9!'));
    expect(content!.map(({ token }) => token)).to.deep.equal(['h', '\ufffd', '\ufffd', '!']);
    expect(content![0]!.logprob).to.be.closeTo(Math.log(1 / 2), 1e-12);
    expect(content![0]!.top_logprobs.map(({ token }) => token)).to.deep.equal(['h', 'i']);
    expect(whole.choices[0]!.message.content).to.equal('h\u00e9!');
    await engine[Symbol.asyncDispose]();
  });

  it('completions: raw text, several prompts, logprobs in the older shape', async () => {
    const { engine } = createFakeEngine({ contextTokens: 4096 });
    const prompts = ['one', 'two'];
    const expected = await Promise.all(prompts.map((prompt) => answer(engine, { prompt, maxTokens: 5 })));
    const client = clientOf(engine);
    const { choices } = await client.completions.create({ model, prompt: prompts, max_tokens: 5, logprobs: 1 });
    expect(choices.map(({ text }) => text)).to.deep.equal(expected.map(({ text }) => text));
    expect(choices[0]!.logprobs!.tokens!.join('')).to.equal(expected[0]!.text);
    expect(choices[0]!.logprobs!.text_offset).to.deep.equal(Array.from(expected[0]!.text, (_, index) => index));
    let text = '';
    for await (const chunk of await client.completions.create({ model, prompt: 'one', max_tokens: 5, stream: true }))
      text += chunk.choices[0]!.text;
    expect(text).to.equal(expected[0]!.text);
    await engine[Symbol.asyncDispose]();
  });

  it('models: lists the one model; embeddings are not implemented', async () => {
    const { engine } = createFakeEngine();
    const client = clientOf(engine);
    const ids = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).to.deep.equal([model]);
    expect((await client.models.retrieve(model)).id).to.equal(model);
    expect((await apiError(client.models.retrieve('other'))).status).to.equal(404);
    expect((await apiError(client.embeddings.create({ model, input: 'x' }))).status).to.equal(501);
    await engine[Symbol.asyncDispose]();
  });
});

describe('AI SDK', () => {
  it('streamText: gives the text and usage that the engine gives', async () => {
    const { engine } = createFakeEngine({ contextTokens: 4096 });
    const direct = await answer(engine, { messages, maxTokens: 20 });
    const { fetch } = withOpenAi(engine);
    const provider = createOpenAICompatible({
      name: 'local',
      baseURL: 'http://localhost/v1',
      fetch,
      includeUsage: true,
    });
    const result = streamText({ model: provider(model), messages, maxOutputTokens: 20 });
    let text = '';
    for await (const piece of result.textStream) text += piece;
    expect(text).to.equal(direct.text);
    expect((await result.usage).outputTokens).to.equal(direct.ids.length);
    await engine[Symbol.asyncDispose]();
  });
});
