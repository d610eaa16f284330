import { expect } from 'chai';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import { LiveFiguresModel } from './live-figures.ts';

const step = (kind: StepTrace['kind'], startedAtMs: number, totalMs: number): StepTrace => ({
  kind,
  startedAtMs,
  timing: { totalMs },
  batch: 1,
  tokens: 1,
  contextTokens: 1,
});

const trace = (requestId: string, marks: Partial<RequestTrace['marks']> = {}): RequestTrace => ({
  requestId,
  marks: {
    calledMs: 0,
    startedMs: 10,
    tokenizedMs: 20,
    prefilledMs: 480,
    firstTokenMs: 490,
    lastTokenMs: 540,
    ...marks,
  },
  usage: { promptTokens: 30, cachedTokens: 6, completionTokens: 3 },
  tokenTimesMs: [500, 520, 540],
  hidden: false,
});

describe('LiveFiguresModel', () => {
  it('LiveFiguresModel: from a chat, TTFT is of the delivery and gaps are of the tokens', () => {
    const model = new LiveFiguresModel();
    model.onCall();
    model.onStart({ requestId: 'a', promptTokens: 30, cachedTokens: 6 });
    expect(model.read().phase).to.equal('prefill');
    model.onTokens([{ atMs: 500 }]);
    model.onFirstText(502);
    model.onTokens([{ atMs: 520 }, { atMs: 540 }]);
    expect(model.read()).to.deep.include({ phase: 'streaming', ttftMs: 502, outputTokens: 3, cachedTokens: 6 });
    expect(model.gapsMs).to.deep.equal([20, 20]);
    model.onEnd(trace('a', { firstDeliveredMs: 500, lastDeliveredMs: 540 }), 'completed');
    const figures = model.read();
    expect(figures).to.deep.include({ phase: 'done', ttftMs: 500, tokensPerSecond: 50 });
    expect(figures.parts).to.deep.equal({
      queueMs: 10,
      tokenizeMs: 10,
      prefillMs: 460,
      firstSampleMs: 10,
      deliveryMs: 10,
    });
    expect(figures.latency).to.deep.include({ n: 2, p50Ms: 20 });
  });

  it('LiveFiguresModel: the same request told by the engine as well counts once, and the page has the last word', () => {
    const model = new LiveFiguresModel();
    model.onCall();
    model.onStart({ requestId: 'a', promptTokens: 30, cachedTokens: 0 });
    model.onTokens([{ atMs: 500 }, { atMs: 520 }]);
    model.onStep(step('decode', 500, 20));
    model.onEnd(trace('a', { firstDeliveredMs: 505, lastDeliveredMs: 545 }), 'completed');
    model.onRequest({ outcome: 'completed', trace: trace('a') });
    expect(model.read().ttftMs).to.equal(505);
    expect(model.gapsMs).to.deep.equal([20]);
  });

  it('LiveFiguresModel: steps that were enqueued ahead and come after the end change nothing of the answer', () => {
    const clock = { now: () => 550 };
    for (const outcome of ['completed', 'aborted', 'failed'] as const)
      for (const engineTells of ['before the steps', 'after the steps'] as const) {
        const model = new LiveFiguresModel(clock);
        model.onCall();
        model.onStart({ requestId: 'a', promptTokens: 30, cachedTokens: 0 });
        model.onTokens([{ atMs: 500 }, { atMs: 520 }, { atMs: 540 }]);
        model.onFirstText(502);
        const shown = trace('a', { firstDeliveredMs: 500, lastDeliveredMs: 540, endedMs: 560 });
        model.onEnd(outcome === 'completed' ? shown : undefined, outcome);
        if (engineTells === 'before the steps') model.onRequest({ outcome, trace: shown });
        for (const startedAtMs of [530, 545, 558]) model.onStep(step('decode', startedAtMs, 20));
        if (engineTells === 'after the steps') model.onRequest({ outcome, trace: shown });
        const phase = { completed: 'done', aborted: 'stopped', failed: 'failed' }[outcome];
        expect(model.read(), `${outcome}, ${engineTells}`).to.deep.include({ phase, outputTokens: 3, ttftMs: 500 });
        expect(model.gapsMs).to.deep.equal([20, 20]);
        model.onStep(step('prefill', 600, 20));
        expect(model.read().phase, 'another request begins').to.equal('prefill');
      }
  });

  it('LiveFiguresModel: of an engine alone, steps in flight at the end of a request begin no other one', () => {
    const model = new LiveFiguresModel();
    model.onStep(step('prefill', 0, 100));
    model.onStep(step('decode', 100, 30));
    model.onRequest({ outcome: 'completed', trace: trace('b', { endedMs: 545 }) });
    model.onStep(step('decode', 535, 30));
    expect(model.read()).to.deep.include({ phase: 'done', outputTokens: 3 });
    model.onStep(step('decode', 570, 30));
    expect(model.read().phase).to.equal('streaming');
  });

  it('LiveFiguresModel: from steps alone, a gap is from end to end, and the trace corrects it', () => {
    const model = new LiveFiguresModel();
    model.onStep(step('prefill', 0, 100));
    model.onStep(step('decode', 100, 30));
    model.onStep(step('decode', 135, 25));
    expect(model.gapsMs).to.deep.equal([30, 30]);
    expect(model.read()).to.not.have.property('ttftMs');
    model.onRequest({ outcome: 'completed', trace: trace('b') });
    expect(model.gapsMs).to.deep.equal([20, 20]);
    expect(model.read()).to.deep.include({ phase: 'done', outputTokens: 3, promptTokens: 30 });
  });

  it('LiveFiguresModel: of a stopped answer the engine has the trace, whichever of the two tells first', () => {
    for (const engineFirst of [true, false]) {
      const model = new LiveFiguresModel();
      model.onCall();
      model.onStart({ requestId: 'a', promptTokens: 30, cachedTokens: 0 });
      const stopped = { outcome: 'aborted', trace: trace('a', { firstDeliveredMs: 500 }) } as const;
      if (engineFirst) model.onRequest(stopped);
      model.onEnd(undefined, 'aborted');
      if (!engineFirst) model.onRequest(stopped);
      expect(model.read().parts).to.have.property('prefillMs', 460);
    }
  });

  it('LiveFiguresModel: what is forgotten in the middle of an answer does not come back at its end', () => {
    const model = new LiveFiguresModel();
    model.onCall();
    model.onTokens([{ atMs: 0 }, { atMs: 10 }]);
    model.clear();
    model.onTokens([{ atMs: 20 }]);
    model.onEnd(undefined, 'aborted');
    expect(model.read()).to.deep.equal({ phase: 'idle', latency: { n: 0 }, outputTokens: 0 });
  });

  it('LiveFiguresModel: the gap over a time when the page was hidden is not counted', () => {
    const model = new LiveFiguresModel();
    model.onCall();
    model.onTokens([{ atMs: 0 }, { atMs: 10 }]);
    model.onHidden();
    model.onTokens([{ atMs: 4000 }, { atMs: 4900 }]);
    model.onShown(4950);
    // One that was made while the page was hidden, and is told late.
    model.onTokens([{ atMs: 4940 }, { atMs: 5000 }, { atMs: 5010 }]);
    expect(model.gapsMs).to.deep.equal([10, 10]);
    expect(model.read().latency).to.deep.include({ n: 2, p50Ms: 10 });
    expect(model.read().outputTokens).to.equal(7);
  });

  it('LiveFiguresModel: an answer of any length takes bounded room', () => {
    const model = new LiveFiguresModel();
    model.onCall();
    for (let index = 0; index < 20_000; index += 1) model.onTokens([{ atMs: index }]);
    expect(model.gapsMs.length).to.be.at.most(1024);
    expect(model.read().outputTokens).to.equal(20_000);
  });
});
