import { expect } from 'chai';
import type { StepTiming, StepTrace } from '../../shared/trace.ts';
import { wasPageHidden } from '../../shared/page-hidden.ts';
import { hidePage } from '../../shared/testing/hide-page.ts';
import { stepWindow } from './step-window.ts';
import { handMadeTrace } from './testing/hand-made-trace.ts';
import { TraceLog, type TraceEvents, type TraceSource } from './trace-log.ts';

function stepOf(startedAtMs: number, totalMs: number, more: Partial<StepTrace> & { parts?: Partial<StepTiming> } = {}) {
  const { parts, ...rest } = more;
  const timing = { totalMs, ...parts };
  return { kind: 'decode', startedAtMs, timing, batch: 1, tokens: 1, contextTokens: 8, ...rest } satisfies StepTrace;
}

/** An engine's events, by hand. */
class Source implements TraceSource {
  readonly listeners = { step: new Set<unknown>(), request: new Set<unknown>() };
  on<Type extends keyof TraceEvents>(type: Type, listener: (event: TraceEvents[Type]) => void): () => void {
    this.listeners[type].add(listener);
    return () => this.listeners[type].delete(listener);
  }
  step(step: StepTrace): void {
    for (const listener of this.listeners.step) (listener as (step: StepTrace) => void)(step);
  }
}

describe('stepWindow', () => {
  it('stepWindow: one after the other, a step has its own time, and a decode the gap before it', () => {
    expect(stepWindow(stepOf(110, 20), 100)).to.deep.equal({
      fromMs: 110,
      toMs: 130,
      ownMs: 20,
      gapMs: 10,
      overlaps: false,
    });
    expect(stepWindow(stepOf(110, 20)).gapMs).to.equal(0);
  });

  it('stepWindow: the engine may have been idle before a prefill', () => {
    expect(stepWindow(stepOf(9000, 20, { kind: 'prefill' }), 100)).to.include({ gapMs: 0, ownMs: 20 });
  });

  it('stepWindow: steps in flight together share the time without overlap', () => {
    const ends = [100, 104, 108];
    const windows = ends.map((endMs, i) => stepWindow(stepOf(endMs - 12, 12), i === 0 ? undefined : ends[i - 1]));
    expect(windows.map(({ ownMs }) => ownMs)).to.deep.equal([12, 4, 4]);
    expect(windows.map(({ overlaps }) => overlaps)).to.deep.equal([false, true, true]);
    expect(windows[1]!.fromMs).to.equal(windows[0]!.toMs);
  });
});

describe('TraceLog', () => {
  it('TraceLog: records while it is attached, and lets go of the engine', () => {
    const source = new Source();
    const log = new TraceLog();
    const detach = log.attach(source);
    source.step(stepOf(0, 5));
    expect(log.stepCount).to.equal(1);
    detach();
    detach();
    expect(source.listeners.step.size + source.listeners.request.size).to.equal(0);
    source.step(stepOf(5, 5));
    expect(log.stepCount).to.equal(1);
  });

  it('TraceLog: the time in which it was detached is no gap of the next step', () => {
    const source = new Source();
    const log = new TraceLog();
    const detach = log.attach(source);
    source.step(stepOf(0, 5));
    detach();
    source.step(stepOf(5, 5));
    log.attach(source);
    source.step(stepOf(10_000, 5));
    source.step(stepOf(10_006, 5));
    expect(log.steps.map(({ window }) => window.gapMs)).to.deep.equal([0, 0, 1]);
  });

  it('TraceLog: keeps the latest, counts the rest, and clears', () => {
    const log = new TraceLog({ steps: 3, requests: 1 });
    for (let i = 0; i < 5; i++) log.addStep(stepOf(i * 10, 10));
    for (const requestId of ['a', 'b'])
      log.addRequest({ outcome: 'completed', trace: handMadeTrace([1], { requestId }) });
    expect(log.steps.map(({ step }) => step.startedAtMs)).to.deep.equal([20, 30, 40]);
    expect(log.latestRequest?.trace.requestId).to.equal('b');
    expect(log.dropped).to.deep.equal({ steps: 2, requests: 1 });
    log.clear();
    expect(log.steps).to.deep.equal([]);
    expect(log.dropped).to.deep.equal({ steps: 0, requests: 0 });
    log.addStep(stepOf(90, 10));
    expect(log.latestStep?.window).to.include({ gapMs: 0, ownMs: 10 });
  });

  it('TraceLog: the step that ends when the page is hidden and the first one after it are marked', () => {
    let isHidden = false;
    const log = new TraceLog({ isHidden: () => isHidden });
    for (const [at, hidden] of [false, true, true, false, false].entries()) {
      isHidden = hidden;
      log.addStep(stepOf(at * 10, 10));
    }
    expect(log.steps.map(({ hidden }) => hidden)).to.deep.equal([false, true, true, true, false]);
  });

  it('TraceLog: a step during which the page was hidden and seen again is marked, and not the one after it', () => {
    const log = new TraceLog({ isHidden: wasPageHidden });
    const nowMs = performance.timeOrigin + performance.now();
    log.addStep(stepOf(nowMs - 40, 10));
    hidePage()();
    log.addStep(stepOf(nowMs - 20, 10));
    log.addStep(stepOf(nowMs + 1000, 10)); // the page was seen again since the end of the step before
    expect(log.steps.map(({ hidden }) => hidden)).to.deep.equal([false, true, true]);
    log.addStep(stepOf(nowMs + 1010, 10));
    expect(log.latestStep?.hidden).to.equal(false);
  });

  it('TraceLog: gives the latest steps of a kind, oldest first', () => {
    const log = new TraceLog();
    log.addStep(stepOf(0, 10, { kind: 'prefill' }));
    for (const at of [10, 20, 30]) log.addStep(stepOf(at, 10));
    expect(log.latestSteps('decode', 2).map(({ step }) => step.startedAtMs)).to.deep.equal([20, 30]);
    expect(log.latestSteps('prefill', 9).map(({ step }) => step.startedAtMs)).to.deep.equal([0]);
  });

  it('TraceLog: steps of a request are those that ended while it ran', () => {
    const log = new TraceLog();
    for (const at of [0, 10, 20, 30, 40, 50]) log.addStep(stepOf(at, 10));
    const trace = handMadeTrace([30, 50], { marks: { calledMs: 5, startedMs: 10 } });
    expect(log.stepsOf(trace).map(({ step }) => step.startedAtMs)).to.deep.equal([10, 20, 30, 40]);
    expect(log.stepsOf(handMadeTrace([]))).to.deep.equal([]);
  });

  it('TraceLog: a listener that throws is reported and disturbs nothing', () => {
    const log = new TraceLog();
    const reported: unknown[] = [];
    const { error } = console;
    console.error = (...words: unknown[]) => reported.push(words);
    let calls = 0;
    try {
      log.onChange(() => {
        throw new Error('of the page');
      });
      const off = log.onChange(() => (calls += 1));
      log.addStep(stepOf(0, 1));
      off();
      log.addStep(stepOf(1, 1));
    } finally {
      console.error = error;
    }
    expect(calls).to.equal(1);
    expect(reported).to.have.length(2);
  });
});

describe('requestBreakdown', () => {
  /** Queue 4, template 2, cache 1; prefill 10..30, decode 31..41 and 42..52; delivered at 55. */
  function recorded(parts: Partial<StepTiming> = {}) {
    const log = new TraceLog();
    log.addStep(stepOf(10, 20, { kind: 'prefill', parts: { encodeMs: 2, submitMs: 1, gpuMs: 15, readbackMs: 2 } }));
    for (const at of [31, 42]) log.addStep(stepOf(at, 10, { parts }));
    const marks = { calledMs: 0, startedMs: 4, tokenizedMs: 6, cacheReadyMs: 7, lastDeliveredMs: 55 };
    const trace = handMadeTrace([30, 41, 52], { requestId: 'r', marks });
    log.addRequest({ outcome: 'completed', trace });
    return log;
  }

  it('requestBreakdown: every part of a request, adding up to its end-to-end latency', () => {
    const log = recorded({ encodeMs: 1, submitMs: 0.5, gpuMs: 7, readbackMs: 1, sampleMs: 0.5 });
    const breakdown = log.breakdownOf('r')!;
    expect(breakdown).to.deep.equal({
      totalMs: 55,
      queueMs: 4,
      tokenizeMs: 2,
      cacheMs: 1,
      prefill: { steps: 1, totalMs: 23, encodeMs: 2, submitMs: 1, gpuMs: 15, readbackMs: 2, betweenMs: 3 },
      decode: {
        steps: 2,
        totalMs: 22,
        encodeMs: 2,
        submitMs: 1,
        gpuMs: 14,
        readbackMs: 2,
        sampleMs: 1,
        betweenMs: 2,
      },
      deliveryMs: 3,
    });
  });

  it('requestBreakdown: what a step does not tell is unexplained, beyond a ms', () => {
    const { decode } = recorded({ gpuMs: 6 }).breakdownOf('r')!;
    expect(decode).to.deep.equal({ steps: 2, totalMs: 22, gpuMs: 12, betweenMs: 2, unexplainedMs: 8 });
    expect(recorded({ gpuMs: 9.6 }).breakdownOf('r')!.decode).to.not.have.property('unexplainedMs');
  });

  it('requestBreakdown: what was hidden behind the step before does not count', () => {
    const log = new TraceLog();
    log.addStep(stepOf(0, 20, { kind: 'prefill' }));
    // Given at 5, done at 24: 4 ms of its own, of which the GPU was busy for 3; the rest of the wait lies behind the prefill.
    log.addStep(stepOf(5, 19, { parts: { encodeMs: 2, gpuMs: 3, readbackMs: 14 } }));
    const trace = handMadeTrace([20, 24], { requestId: 'r', marks: { startedMs: 0 } });
    log.addRequest({ outcome: 'completed', trace });
    expect(log.breakdownOf('r')!.decode).to.deep.equal({
      steps: 1,
      totalMs: 4,
      encodeMs: 0,
      gpuMs: 3,
      readbackMs: 1,
      betweenMs: 0,
    });
  });

  it('requestBreakdown: without steps (an engine of somebody else) all is between', () => {
    const log = new TraceLog();
    log.addRequest({ outcome: 'completed', trace: handMadeTrace([500, 520, 540], { requestId: 'r' }) });
    const breakdown = log.breakdownOf('r')!;
    expect(breakdown.prefill).to.deep.equal({ steps: 0, totalMs: 500, betweenMs: 500 });
    expect(breakdown.decode.betweenMs).to.equal(40);
    expect(log.breakdownOf('another')).to.equal(undefined);
  });
});
