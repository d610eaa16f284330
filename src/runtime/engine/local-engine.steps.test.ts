import { expect } from 'chai';
import type { StepTrace } from '../../shared/trace.ts';
import { bytesOf, END_ID } from './testing/byte-tokenizer.ts';
import { answer, collect, rejection, settle } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import { scriptedTokens } from './testing/next-token.ts';
import { endless, LONG, PROMPT } from './testing/requests.ts';

describe('LocalEngine steps', () => {
  it('generate: prefills in chunks of what a step takes, then decodes the token before', async () => {
    const { engine, backend } = createFakeEngine({ nextToken: endless, capabilities: { maxStepTokens: 16 } });
    await answer(engine, { ...LONG, maxTokens: 3 });
    const shapes = backend.given.map(([row]) => [
      row!.input === 'previous' || row!.input.length,
      row!.sample,
      row!.isPrompt,
    ]);
    expect(shapes).to.deep.equal([
      [16, false, true],
      [16, false, true],
      [8, true, true],
      [true, true, false],
      [true, true, false],
    ]);
  });

  it('generate: keeps as many steps in flight as allowed, and samples no more than maxTokens', async () => {
    const { engine, backend } = createFakeEngine({
      nextToken: endless,
      completion: 'manual',
      capabilities: { maxStepTokens: 64, runAhead: 3 },
    });
    const running = answer(engine, { ...LONG, maxTokens: 5 });
    await backend.whenGiven(3);
    await settle();
    expect(backend.pendingSteps).to.equal(3);
    backend.complete();
    await backend.whenGiven(4);
    backend.complete(3);
    await backend.whenGiven(5);
    await settle();
    expect(backend.given).to.have.length(5);
    backend.complete(1);
    expect((await running).ids).to.have.length(5);
    expect(backend.openSequences).to.equal(0);
  });

  it('generate: prefill runs at most two chunks ahead, so that an abort has little to wait for', async () => {
    const { engine, backend } = createFakeEngine({
      completion: 'manual',
      capabilities: { maxStepTokens: 8, runAhead: 4 },
    });
    const controller = new AbortController();
    const running = rejection(answer(engine, LONG, controller.signal));
    await backend.whenGiven(2);
    await settle();
    expect(backend.pendingSteps).to.equal(2);
    controller.abort();
    await running;
    backend.release();
  });

  it('generate: steps that ran ahead of a stop are awaited and not counted', async () => {
    const { engine, backend } = createFakeEngine({
      nextToken: scriptedTokens(bytesOf('ab')),
      completion: 'task',
      capabilities: { maxStepTokens: 64, runAhead: 3 },
    });
    const steps: StepTrace[] = [];
    engine.metrics.on('step', (step) => steps.push(step));
    let ended = 0;
    engine.metrics.on('request', () => (ended += 1));
    const { ids, end } = await answer(engine, { prompt: PROMPT });
    expect(ids).to.deep.equal([...bytesOf('ab'), END_ID]);
    expect(end.usage.completionTokens).to.equal(3);
    expect(backend.given.length).to.be.greaterThan(3);
    expect(backend.openSequences).to.equal(0);
    await settle();
    expect(backend.pendingSteps).to.equal(0);
    expect(steps, 'each step is told of').to.have.length(backend.given.length);
    expect(ended, 'and the request once').to.equal(1);
  });

  it('generate: maxTokens is clipped by what is left of the context', async () => {
    const { engine } = createFakeEngine({ nextToken: endless, contextTokens: 48 });
    for (const maxTokens of [{}, { maxTokens: 1000 }]) {
      const { ids, end } = await answer(engine, { prompt: PROMPT, ...maxTokens });
      expect(ids).to.have.length(8);
      expect(end.finishReason).to.equal('length');
    }
  });

  it('context-overflow: a prompt that leaves no room for one token is refused, one shorter is answered', async () => {
    const { engine, backend } = createFakeEngine({ nextToken: endless, contextTokens: 40 });
    const error = await rejection(answer(engine, { prompt: PROMPT }));
    expect(error).to.deep.include({ code: 'context-overflow', details: { promptTokens: 40, contextTokens: 40 } });
    expect(backend.given).to.have.length(0);
    expect((await answer(engine, { prompt: PROMPT.slice(1) })).ids).to.have.length(1);
  });

  it('generate: an engine whose backend never leaves the microtask queue still lets tasks run', async () => {
    const { engine, backend } = createFakeEngine({ nextToken: endless, contextTokens: 100_000 });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 5);
    const error = await rejection(answer(engine, { ...LONG, maxTokens: 50_000 }, controller.signal));
    expect(error.name).to.equal('AbortError');
    expect(backend.given.length).to.be.lessThan(50_000);
  });

  it('generate: a token is with its consumer before a backend that computes on this thread begins the next step', async () => {
    const { engine, backend } = createFakeEngine({ nextToken: endless, capabilities: { maxStepTokens: 64 } });
    const givenAtToken: number[] = [];
    for await (const event of engine.generate({ ...LONG, maxTokens: 4 }))
      if (event.type === 'delta') givenAtToken.push(backend.given.length);
    expect(givenAtToken).to.deep.equal([1, 2, 3, 4]);
  });

  it('generate: nothing is computed before the call has returned', async () => {
    const { engine, backend } = createFakeEngine();
    const events = engine.generate(LONG);
    expect(backend.given).to.have.length(0);
    await collect(events);
  });

  it('generate: a request whose object is changed after the call is answered as it was', async () => {
    const { engine } = createFakeEngine();
    const message = { role: 'user' as const, content: 'What is TTFT?' };
    const expected = (await answer(engine, { messages: [message] })).text;
    const request = { messages: [message], stop: [] as string[], sampling: { temperature: 0 } };
    const events = engine.generate(request);
    message.content = 'Something else';
    request.messages.length = 0;
    request.stop.push(expected.slice(0, 1));
    request.sampling.temperature = 3;
    expect((await collect(events)).text).to.equal(expected);
  });

  it('defaults: those of the model are used where the request says nothing', async () => {
    const { engine } = createFakeEngine({}, { defaults: { temperature: 0.9 }, drawSeed: () => 99 });
    const { end, text } = await answer(engine, LONG);
    expect(end.trace.seed).to.equal(99);
    const named = await answer(engine, { ...LONG, sampling: { temperature: 0.9, seed: 99 } });
    expect(named.text).to.equal(text);
    expect((await answer(engine, { ...LONG, sampling: { temperature: 0 } })).end.trace).not.to.have.property('seed');
  });
});
