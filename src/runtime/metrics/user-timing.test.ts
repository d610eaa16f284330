import { expect } from 'chai';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import { EPOCH_MS, filledLog, requestAt, stepAt } from './testing/hand-made-timeline.ts';
import { UserTimingWriter, type DevToolsTrackEntry } from './user-timing.ts';

describe('UserTimingWriter', () => {
  /** Entries that the browser keeps, by our own account. */
  class Timing {
    readonly timeOrigin = EPOCH_MS;
    entries: { name: string; start: number; end: number; detail: { devtools: DevToolsTrackEntry } }[] = [];
    most = 0;
    measure(name: string, options: { start: number; end: number; detail: unknown }): void {
      this.entries.push({ name, ...options, detail: options.detail as { devtools: DevToolsTrackEntry } });
      this.most = Math.max(this.most, this.entries.length);
    }
    clearMeasures(name: string): void {
      this.entries = this.entries.filter((entry) => entry.name !== name);
    }
  }

  it('UserTimingWriter: prefill and each token on tracks of their own, at the times they had', () => {
    const performance = new Timing();
    const writer = new UserTimingWriter({ performance });
    const { steps, requests } = filledLog();
    for (const { step } of steps) writer.step(step);
    for (const { outcome, trace } of requests) writer.request(outcome, trace);
    const rows = performance.entries.map(({ start, end, detail }) => [detail.devtools.track, start, end]);
    expect(rows).to.deep.equal([
      ['Prefill', 5, 25],
      ['Tokens', 26, 35],
      ['Tokens', 36, 45],
      ['Tokens', 46, 55],
      ['Requests', 0, 56],
      ['Requests', 0, 25],
      ['First delivery', 25, 25],
    ]);
    for (const { detail } of performance.entries)
      expect(detail.devtools).to.include({ dataType: 'track-entry', trackGroup: 'Tokenglass' });
  });

  it('UserTimingWriter: says how many tokens a step made, and no counts that a server does not tell', () => {
    const performance = new Timing();
    const writer = new UserTimingWriter({ performance });
    writer.step({ ...stepAt(0, 9), drafted: 4, accepted: 2 });
    const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 4, unknown: ['promptTokens', 'cachedTokens'] };
    writer.request('completed', { ...requestAt(10, [20], 'a'), usage } as RequestTrace);
    const [step, request] = performance.entries.map(({ detail }) => detail.devtools);
    expect(step!.tooltipText).to.equal('3 tokens: 9.00 ms');
    expect(step!.properties).to.deep.include(['Drafts', '4, 2 accepted']);
    expect(request!.properties).to.deep.include.members([
      ['Prompt', 'unknown'],
      ['Output', '4 tokens'],
    ]);
  });

  it('UserTimingWriter: a request that is stopped before its first token lasts until it is stopped', () => {
    const performance = new Timing();
    const writer = new UserTimingWriter({ performance });
    const { usage, requestId } = requestAt(10, [20], 'a');
    const marks = { calledMs: EPOCH_MS + 10, startedMs: EPOCH_MS + 12, endedMs: EPOCH_MS + 500 };
    writer.request('aborted', { requestId, marks, usage, tokenTimesMs: [], hidden: false });
    expect(performance.entries.map(({ start, end }) => [start, end])).to.deep.equal([[10, 500]]);
  });

  it('UserTimingWriter: steps in flight together do not overlap on the track', () => {
    const performance = new Timing();
    const writer = new UserTimingWriter({ performance });
    for (const atMs of [0, 3, 6]) writer.step(stepAt(atMs, 12));
    expect(performance.entries.map(({ start, end }) => [start, end])).to.deep.equal([
      [0, 12],
      [12, 15],
      [15, 18],
    ]);
  });

  it('UserTimingWriter: keeps a bounded number of entries, and none after it is detached', () => {
    const performance = new Timing();
    const writer = new UserTimingWriter({ performance, limit: 10 });
    let emit: (step: StepTrace) => void = () => undefined;
    const detach = writer.attach({
      on: (type, listener) => {
        if (type === 'step') emit = listener as (step: StepTrace) => void;
        return () => (emit = () => undefined);
      },
    });
    performance.measure('of the page', { start: 0, end: 1, detail: undefined });
    for (let i = 0; i < 95; i++) emit(stepAt(i * 10, 9));
    expect(performance.most).to.equal(11);
    detach();
    expect(performance.entries.map(({ name }) => name)).to.deep.equal(['of the page']);
  });

  it('UserTimingWriter: the browser takes what is written', () => {
    const writer = new UserTimingWriter();
    const nowMs = performance.timeOrigin + performance.now();
    writer.step({ ...stepAt(0, 9), startedAtMs: performance.timeOrigin - 5 });
    writer.step({ ...stepAt(0, 9), startedAtMs: nowMs - 10 });
    const [early, entry] = performance.getEntriesByName('tokenglass token') as PerformanceMeasure[];
    expect(early!.startTime).to.equal(0);
    expect(entry!.startTime + performance.timeOrigin).to.be.closeTo(nowMs - 10, 0.01);
    expect(entry!.duration).to.be.closeTo(9, 0.01);
    expect((entry!.detail as { devtools: DevToolsTrackEntry }).devtools.track).to.equal('Tokens');
    writer.clear();
    expect(performance.getEntriesByName('tokenglass token')).to.deep.equal([]);
  });
});
