import { expect } from 'chai';
import type { ChatMessage, GenerateRequest } from '../../../shared/generation.ts';
import { bytesOf, END_ID } from '../../engine/testing/byte-tokenizer.ts';
import { answer, nextEvent, rejection, settle } from '../../engine/testing/collect.ts';
import { createWebLlmEngine } from './create-web-llm-engine.ts';
import type { FakeMlcEngine, FakeMlcOptions } from './testing/fake-mlc-engine.ts';
import { FAKE_MODEL, fakeMlc } from './testing/fake-mlc-library.ts';

const user = (content: string): ChatMessage[] => [{ role: 'user', content }];
const request: GenerateRequest = { messages: user('hi'), sampling: { temperature: 0 }, maxTokens: 12, ignoreEos: true };

async function make(options: FakeMlcOptions = {}) {
  const { library, engines } = fakeMlc(options);
  const engine = await createWebLlmEngine({ model: FAKE_MODEL, library });
  const mlc = engines[0]!;
  return { engine, mlc, pipeline: [...mlc.loadedModelIdToPipeline.values()][0]! };
}

/** A stand-in whose step of that number waits until it is let go. */
function gate(at: number): { onStep: NonNullable<FakeMlcOptions['onStep']>; reached: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  let reach = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const onStep = (step: number): Promise<void> | undefined => {
    if (step !== at) return undefined;
    reach();
    return opened;
  };
  return { onStep, reached, open: () => open() };
}

describe('WebLlmEngine: one lock, one interrupt', () => {
  it('queue: a second request waits here, and the library has one', async () => {
    const held = gate(0);
    const { engine, mlc } = await make({ onStep: held.onStep });
    const first = answer(engine, request);
    const second = answer(engine, { ...request, messages: user('again') });
    await held.reached;
    await settle();
    expect(mlc.requests).to.have.length(1);
    held.open();
    expect((await first).text).not.to.equal((await second).text);
    expect(mlc.requests).to.have.length(2);
  });

  it('queue: aborting one that waits does not touch the one that runs', async () => {
    const held = gate(0);
    const { engine, mlc } = await make({ onStep: held.onStep });
    const controller = new AbortController();
    const first = answer(engine, request);
    const second = rejection(answer(engine, request, controller.signal));
    await held.reached;
    controller.abort();
    expect((await second).name).to.equal('AbortError');
    expect(mlc.interrupts).to.equal(0);
    held.open();
    expect((await first).ids).to.have.length(12);
    await settle();
    expect(mlc.requests).to.have.length(1);
  });

  it('abort: in the prefill is told at once, ends the answer after it, and the next one is right', async () => {
    const held = gate(0);
    const { engine, mlc } = await make({ onStep: held.onStep });
    const controller = new AbortController();
    const first = rejection(answer(engine, request, controller.signal));
    await held.reached;
    controller.abort();
    expect((await first).name).to.equal('AbortError');
    const second = answer(engine, request);
    await settle();
    expect(mlc.requests, 'the library still runs the first').to.have.length(1);
    held.open();
    expect((await second).ids).to.have.length(12);
    expect([...mlc.loadedModelIdToPipeline.values()][0]!.getCurRoundDecodingTotalTokens()).to.equal(11);
  });

  it('abort: an interrupt that the library forgets is given again', async () => {
    const { engine, mlc, pipeline } = await make();
    const interrupt = mlc.interruptGenerate.bind(mlc);
    let forgotten = 0;
    mlc.interruptGenerate = () => (forgotten++ === 0 ? Promise.resolve() : interrupt());
    for await (const event of engine.generate({ ...request, maxTokens: 400 })) if (event.type === 'delta') break;
    await answer(engine, { ...request, maxTokens: 1 });
    expect(forgotten).to.be.greaterThan(1);
    expect(pipeline.filledKVCacheLength).to.be.lessThan(20);
  });

  it('leaving early: keeps the lock of 0.2.79 for ever, and not with this engine', async () => {
    const { engine, mlc } = await make({ version: '0.2.79' });
    for await (const event of engine.generate(request)) if (event.type === 'delta') break;
    expect((await answer(engine, request)).ids).to.have.length(12);
    // What would have happened: the stand-in itself, left early.
    const body = { stream: true as const, messages: [{ role: 'user', content: 'hi' }] };
    for await (const chunk of await mlc.chat.completions.create(body)) if (chunk.choices.length > 0) break;
    let hasLock = false;
    void mlc.chat.completions.create(body).then(() => (hasLock = true));
    await settle();
    expect(hasLock).to.equal(false);
  });

  it('finish_reason "abort": of an interrupt by somebody else is an AbortError, and no answer', async () => {
    const { engine, mlc } = await make();
    const outcome = nextEvent(engine, 'request');
    const run = async (): Promise<void> => {
      for await (const event of engine.generate(request)) if (event.type === 'delta') void mlc.interruptGenerate();
    };
    expect((await rejection(run())).name).to.equal('AbortError');
    expect((await outcome).outcome).to.equal('aborted');
    expect((await answer(engine, request)).ids).to.have.length(12);
  });

  it('n: two choices are two requests, for the library streams no more than one', async () => {
    const { engine, mlc } = await make();
    const { choices } = await engine.chat.completions.create({
      model: FAKE_MODEL,
      messages: [{ role: 'user', content: 'hi' }],
      n: 2,
      seed: 3,
      temperature: 1,
    });
    expect(choices).to.have.length(2);
    expect(mlc.requests.map(({ n }) => n)).to.deep.equal([undefined, undefined]);
    const error = await rejection(mlc.chat.completions.create({ stream: true, n: 2, messages: [] }));
    expect(error.name).to.equal('StreamingCountError');
  });
});

describe('WebLlmEngine: counts', () => {
  for (const version of ['0.2.86', '0.2.79'] as const) {
    it(`usage: ${version}: every sampled token, the first and an end token with it`, async () => {
      const { engine, pipeline } = await make({ version, script: [...bytesOf('ab'), END_ID] });
      const { ids, text, end } = await answer(engine, { messages: user('hi') });
      expect(text).to.equal('ab');
      expect(ids).to.deep.equal([...bytesOf('ab'), END_ID]);
      expect(end.usage.completionTokens).to.equal(3);
      expect(end.finishReason).to.equal('stop');
      expect(pipeline.getCurRoundDecodingTotalTokens(), "what 0.2.79's usage says").to.equal(2);
    });

    it(`usage: ${version}: the prompt has the turns whose KV is used again, which the library leaves out`, async () => {
      const { engine, pipeline } = await make({ version, script: [...bytesOf('ok'), END_ID] });
      const first = await answer(engine, { messages: user('hi') });
      expect(first.end.usage.cachedTokens).to.equal(0);
      const messages = [...user('hi'), { role: 'assistant' as const, content: 'ok' }, ...user('and?')];
      const second = await answer(engine, { messages });
      const { promptTokens, cachedTokens } = second.end.usage;
      expect(promptTokens - cachedTokens).to.equal(pipeline.getCurRoundPrefillTotalTokens());
      expect(cachedTokens).to.be.greaterThan(first.end.usage.promptTokens);
      expect(second.start).to.include({ promptTokens, cachedTokens });
    });
  }

  it('usage: an answer that was cut short is not gone on from, as 0.2.79 would', async () => {
    const { engine } = await make({ version: '0.2.79' });
    const cut = await answer(engine, { ...request, maxTokens: 3 });
    expect(cut.end.finishReason).to.equal('length');
    const messages = [...request.messages!, { role: 'assistant' as const, content: cut.text }, ...user('and?')];
    const { end } = await answer(engine, { ...request, messages });
    expect(end.usage.cachedTokens).to.equal(0);
    expect(end.usage.promptTokens).to.equal(await engine.countTokens({ messages }));
  });

  it('text: a character of several tokens comes whole, and each of them is counted at its own time', async () => {
    let nowMs = 0;
    const { library } = fakeMlc({ script: [...bytesOf('a\ud83d\ude00b'), END_ID] });
    const engine = await createWebLlmEngine({ model: FAKE_MODEL, library, clock: { now: () => ++nowMs } });
    const { deltas, tokens, text } = await answer(engine, { messages: user('hi') });
    expect(text).to.equal('a\ud83d\ude00b');
    expect(deltas.join('|')).not.to.contain('\ufffd');
    expect(tokens).to.have.length(7);
    expect(new Set(tokens.map(({ atMs }) => atMs)).size).to.equal(7);
  });

  it('steps: one prefill with the tokens computed, then a decode for each further token', async () => {
    const { engine, pipeline } = await make();
    const steps: string[] = [];
    engine.metrics.on('step', ({ kind, tokens, timing }) =>
      steps.push(`${kind} ${tokens} ${timing.totalMs.toFixed(0)}`),
    );
    const { end } = await answer(engine, { ...request, maxTokens: 3 });
    expect(steps).to.deep.equal([`prefill ${pipeline.getCurRoundPrefillTotalTokens()} 4`, 'decode 1 2', 'decode 1 2']);
    expect(end.trace.prefillMs).to.equal(4);
  });
});

describe('WebLlmEngine: requests', () => {
  it('stop: ends before the string with ignoreEos too, where the library would go on; it is never asked to', async () => {
    const { engine, mlc } = await make({ script: bytesOf('one STOP two three four five') });
    const { text, end } = await answer(engine, { ...request, maxTokens: 28, stop: ['STOP'] });
    expect(text).to.equal('one ');
    expect(end).to.include({ finishReason: 'stop', stopString: 'STOP' });
    expect(end.usage.completionTokens).to.equal(8);
    expect(mlc.requests[0]).not.to.have.property('stop');
    await answer(engine, { ...request, maxTokens: 1 });
    expect(mlc.interrupts, 'the rest was interrupted').to.be.greaterThan(0);
  });

  it('stopTokenIds: ends at the id, which is counted and not shown', async () => {
    const { engine } = await make({ script: bytesOf('abcdef') });
    const { text, ids, end } = await answer(engine, { ...request, stopTokenIds: ['d'.charCodeAt(0)] });
    expect([text, ids.length, end.finishReason]).to.deep.equal(['abc', 4, 'stop']);
  });

  it('logprobs, topK, minP: are measured on the logits, which come to the CPU only then', async () => {
    const { engine, pipeline } = await make();
    const plain = await answer(engine, request);
    expect(pipeline.readbacks).to.equal(0);
    const { tokens, ids } = await answer(engine, { ...request, logprobs: 3 });
    expect(ids).to.deep.equal(plain.ids);
    expect(pipeline.readbacks).to.equal(12);
    for (const { id, logprob, topLogprobs, bytes } of tokens) {
      expect(topLogprobs).to.have.length(3);
      expect(topLogprobs![0]).to.include({ id, logprob });
      expect(topLogprobs!.reduce((sum, top) => sum + Math.exp(top.logprob), 0)).to.be.within(0, 1.000001);
      if (id < 256) expect([...bytes!]).to.deep.equal([id]);
    }
    const sampling = { temperature: 5, seed: 4 };
    const hot = await answer(engine, { ...request, sampling });
    expect(hot.ids).not.to.deep.equal(plain.ids);
    for (const cut of [{ topK: 1 }, { minP: 0.999 }])
      expect((await answer(engine, { ...request, sampling: { ...sampling, ...cut } })).ids).to.deep.equal(plain.ids);
    expect((await answer(engine, request)).ids, 'the probe is gone').to.deep.equal(plain.ids);
  });

  it('body: says what the library knows, in its words', async () => {
    const { engine, mlc } = await make();
    const schema = { type: 'object' };
    await answer(engine, {
      messages: [{ role: 'developer', content: 'Be brief.' }, ...user('cost: $$5 and $&')],
      sampling: { temperature: 0.5, topP: 0.9, seed: 9, frequencyPenalty: 1, logitBias: { 65: -Infinity } },
      grammar: { type: 'json-schema', schema },
      maxTokens: 2,
    });
    const { messages, ...rest } = mlc.requests[0] as unknown as Record<string, unknown>;
    expect(messages).to.deep.equal([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'cost: $$$$5 and $$&' },
    ]);
    expect(rest).to.deep.equal({
      model: FAKE_MODEL,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 2,
      temperature: 0.5,
      top_p: 0.9,
      frequency_penalty: 1,
      logit_bias: { 65: -100 },
      seed: 9,
      response_format: { type: 'json_object', schema: JSON.stringify(schema) },
    });
  });

  it('dollar signs: reach the model as they are, through templates that read them', async () => {
    const { engine } = await make();
    const { end } = await answer(engine, { ...request, messages: user('$$x$$ $& $1') });
    expect(end.usage.promptTokens).to.equal(await engine.countTokens({ messages: user('$$x$$ $& $1') }));
  });

  it('enable_thinking: the empty thought that the library writes is neither text nor tokens of the answer', async () => {
    const { engine, mlc } = await make({ script: bytesOf('abcdefgh') });
    const templateVariables = { enable_thinking: false };
    const { text, ids, end } = await answer(engine, { ...request, templateVariables, maxTokens: 5 });
    expect(text).to.equal('abcde');
    expect([ids.length, end.finishReason, end.usage.completionTokens]).to.deep.equal([5, 'length', 5]);
    expect(mlc.requests[0]!.extra_body).to.deep.equal({ enable_thinking: false });
  });

  it('refusals: each names its field, before the library is asked', async () => {
    const { engine, mlc } = await make();
    const wrong: [string, string, GenerateRequest][] = [
      ['unsupported', 'promptTokens', { promptTokens: [65] }],
      ['unsupported', 'templateVariables.tools', { ...request, templateVariables: { tools: [] } }],
      ['unsupported', 'grammar', { prompt: 'hi', grammar: { type: 'json' } }],
      ['unsupported', 'sampling.topK', { ...request, sampling: { topK: 5, presencePenalty: 1 } }],
      ['unsupported', 'sampling.presencePenalty', { ...request, sampling: { presencePenalty: 3 } }],
      ['invalid-request', 'messages[1].role', { messages: [...user('a'), { role: 'system', content: 'b' }] }],
      ['invalid-request', 'messages[1].role', { messages: [...user('a'), { role: 'assistant', content: 'b' }] }],
    ];
    for (const [code, field, given] of wrong) {
      const error = (await rejection(answer(engine, given))) as Error & { code?: string; details: { field?: string } };
      expect([error.code, error.details.field]).to.deep.equal([code, field]);
    }
    expect(mlc.requests).to.have.length(0);
  });
});

describe('WebLlmEngine: ends', () => {
  for (const [name, lose] of [
    ['the device is lost', (mlc: FakeMlcEngine) => mlc.loseDevice()],
    ['the library has unloaded the model', (mlc: FakeMlcEngine) => void mlc.unload()],
  ] as const)
    it(`device-lost: ${name}: what runs, waits and comes is rejected, and the next load works`, async () => {
      const { library, engines } = fakeMlc();
      const engine = await createWebLlmEngine({ model: FAKE_MODEL, library });
      const controller = new AbortController();
      const running = answer(engine, { ...request, maxTokens: 400 }, controller.signal).catch(
        (error: unknown) => error,
      );
      const waiting = answer(engine, request).catch((error: unknown) => error);
      await nextEvent(engine, 'step');
      lose(engines[0]!);
      controller.signal.addEventListener('abort', () => undefined);
      expect(((await waiting) as { code?: string }).code).to.equal('device-lost');
      expect((await rejection(answer(engine, request))).code).to.equal('device-lost');
      expect((await rejection(engine.countTokens({ prompt: 'hi' }))).code).to.equal('device-lost');
      controller.abort();
      await running;
      await engine[Symbol.asyncDispose]();
      const next = await createWebLlmEngine({ model: FAKE_MODEL, library });
      expect((await answer(next, request)).ids).to.have.length(12);
    });

  it('dispose: unloads once, after the step that runs', async () => {
    const held = gate(1);
    const { engine, mlc, pipeline } = await make({ onStep: held.onStep });
    const running = rejection(answer(engine, request));
    await held.reached;
    const disposed = engine[Symbol.asyncDispose]();
    expect((await running).code).to.equal('disposed');
    await settle();
    expect(pipeline.disposed).to.equal(false);
    held.open();
    await disposed;
    await engine[Symbol.asyncDispose]();
    expect([pipeline.disposed, mlc.unloads]).to.deep.equal([true, 1]);
  });
});

describe("WebLlmEngine: in the library's worker", () => {
  const inWorker = async (options: FakeMlcOptions = {}) => {
    const { library, engines } = fakeMlc(options);
    // The stand-in sends no messages.
    const engine = await createWebLlmEngine({ model: FAKE_MODEL, library, mlcWorker: {} as Worker });
    return { engine, mlc: engines[0]! };
  };

  it('generate: streams text and names the counts that are not known', async () => {
    const script = [...bytesOf('hello'), END_ID];
    const { engine } = await inWorker({ script });
    const { text, ids, end } = await answer(engine, { messages: user('hi'), stop: ['never'] });
    expect([text, ids.length]).to.deep.equal(['hello', 0]);
    expect(end.usage).to.deep.equal({
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 6,
      unknown: ['promptTokens', 'cachedTokens'],
    });
    expect(end.trace.tokenTimesMs).to.deep.equal([]);
    expect(end.trace.marks.firstTokenMs).to.be.a('number');
    const old = await inWorker({ script, version: '0.2.79' });
    expect((await answer(old.engine, { messages: user('hi') })).end.usage.unknown).to.include('completionTokens');
  });

  it('errors: strings become codes, with the numbers that they tell', async () => {
    const held = gate(3);
    const { engine, mlc } = await inWorker({ contextTokens: 32, onStep: held.onStep });
    const overflow = await rejection(answer(engine, { prompt: 'x'.repeat(40) }));
    expect(overflow.code).to.equal('context-overflow');
    expect((overflow as Error & { details: object }).details).to.deep.equal({ promptTokens: 40, contextTokens: 32 });
    expect((await rejection(answer(engine, { ...request, logprobs: 1 }))).code).to.equal('unsupported');
    expect((await rejection(engine.countTokens({ prompt: 'hi' }))).code).to.equal('unsupported');
    const running = rejection(answer(engine, { ...request, maxTokens: 30 }));
    await held.reached;
    mlc.loseDevice(); // "[object Object]", as an ExitStatus comes over
    expect((await running).code).to.equal('device-lost');
    expect((await rejection(answer(engine, request))).code).to.equal('device-lost');
  });

  it('abort: interrupts, and the next request is right', async () => {
    const { engine } = await inWorker();
    const whole = await answer(engine, request);
    for await (const event of engine.generate({ ...request, maxTokens: 300 })) if (event.type === 'delta') break;
    expect((await answer(engine, request)).text).to.equal(whole.text);
  });
});
