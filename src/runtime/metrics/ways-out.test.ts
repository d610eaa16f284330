import { expect } from 'chai';
import type { StepTrace } from '../../shared/trace.ts';
import { chromeTrace, type ChromeTraceEvent } from './chrome-trace.ts';
import { genAiMeasurements, genAiSpanAttributes, type GenAiRequest } from './gen-ai-attributes.ts';
import { handMadeTrace } from './testing/hand-made-trace.ts';
import { TraceLog } from './trace-log.ts';
import { UserTimingWriter, type DevToolsTrackEntry } from './user-timing.ts';

const EPOCH_MS = 1_700_000_000_000;

const stepAt = (atMs: number, totalMs: number, kind: StepTrace['kind'] = 'decode'): StepTrace => ({
  kind,
  startedAtMs: EPOCH_MS + atMs,
  timing: { totalMs, encodeMs: 1, submitMs: 0.5, gpuMs: totalMs - 3, readbackMs: 1 },
  batch: 1,
  tokens: kind === 'prefill' ? 24 : 1,
  contextTokens: 30,
  dispatches: 40,
});

const requestAt = (calledMs: number, tokens: readonly number[], requestId: string) => {
  const shifted = tokens.map((atMs) => EPOCH_MS + atMs);
  const marks = {
    calledMs: EPOCH_MS + calledMs,
    startedMs: EPOCH_MS + calledMs + 2,
    lastDeliveredMs: shifted.at(-1)! + 1,
  };
  return handMadeTrace(shifted, { requestId, marks });
};

function filledLog(): TraceLog {
  const log = new TraceLog();
  log.addStep(stepAt(5, 20, 'prefill'));
  for (const atMs of [26, 36, 46]) log.addStep(stepAt(atMs, 9));
  log.addRequest({ outcome: 'completed', trace: requestAt(0, [25, 35, 45, 55], 'a') });
  return log;
}

type Span = Extract<ChromeTraceEvent, { ph: 'X' }>;
const spansOf = (events: readonly ChromeTraceEvent[]): Span[] => events.filter((event) => event.ph === 'X');

/** Perfetto drops spans that begin in another one and end after it. */
function expectNested(spans: readonly Span[]): void {
  for (const tid of new Set(spans.map((span) => span.tid))) {
    const open: Span[] = [];
    const track = spans.filter((span) => span.tid === tid).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
    for (const span of track) {
      while (open.length > 0 && open.at(-1)!.ts + open.at(-1)!.dur <= span.ts + 1e-3) open.pop();
      const outer = open.at(-1);
      if (outer) expect(span.ts + span.dur, `${span.name} in ${outer.name}`).to.be.at.most(outer.ts + outer.dur + 1e-3);
      open.push(span);
    }
  }
}

describe('chromeTrace', () => {
  it('chromeTrace: names process and tracks, and puts requests, steps, GPU and delivery on their own', () => {
    const { steps, requests } = filledLog();
    const deliveries = [{ requestId: 'a', tokenMs: EPOCH_MS + 25, deliveredMs: EPOCH_MS + 26, tokens: 1 }];
    const { traceEvents, displayTimeUnit } = chromeTrace({ steps, requests, deliveries, about: { model: 'tutor' } });
    expect(displayTimeUnit).to.equal('ms');
    const names = traceEvents.flatMap((event) =>
      event.ph === 'M' && event.name === 'thread_name' ? [event.args['name']] : [],
    );
    expect(names).to.deep.equal(['Requests', 'Steps', 'Step parts (CPU)', 'GPU', 'Delivery to the page']);
    const spans = spansOf(traceEvents);
    const on = (cat: string) => spans.filter((span) => span.cat === cat);
    expect(on('request')).to.have.length(1);
    expect(on('request')[0]).to.include({ ts: 0, dur: 56_000, name: 'request a' });
    expect(on('prefill').map(({ name, ts, dur }) => [name, ts, dur])).to.deep.equal([['prefill 24', 5000, 20_000]]);
    expect(on('decode').map(({ ts }) => ts)).to.deep.equal([26_000, 36_000, 46_000]);
    expect(on('token').map(({ name }) => name)).to.deep.equal(['token 2', 'token 3', 'token 4']);
    expect(on('delivery')).to.have.length(1);
    expect(new Set(spans.map((span) => span.tid)).size).to.equal(5);
    expect(traceEvents.filter(({ ph }) => ph === 'C')).to.have.length(6);
  });

  it('chromeTrace: is JSON with finite numbers that begin at 0, and spans of a track nest', () => {
    const log = filledLog();
    // Steps in flight together, and a second request that overlaps the first.
    for (const atMs of [55, 58, 61]) log.addStep(stepAt(atMs, 12));
    log.addRequest({ outcome: 'aborted', trace: requestAt(40, [67, 70, 73], 'b') });
    const deliveries = [60, 61, 62].map((atMs) => ({
      requestId: 'b',
      tokenMs: EPOCH_MS + atMs,
      deliveredMs: EPOCH_MS + 90,
      tokens: 1,
    }));
    const trace = chromeTrace({ steps: log.steps, requests: log.requests, deliveries });
    const { traceEvents } = JSON.parse(JSON.stringify(trace)) as typeof trace;
    const spans = spansOf(traceEvents);
    expect(Math.min(...spans.map(({ ts }) => ts))).to.equal(0);
    for (const span of spans) expect(span.dur, span.name).to.be.within(0, 1e6);
    expectNested(spans);
    expect(new Set(spans.filter(({ cat }) => cat === 'request').map(({ tid }) => tid)).size).to.equal(2);
    expect(trace.otherData['startedAt']).to.equal(new Date(EPOCH_MS).toISOString());
  });

  it('chromeTrace: of nothing is a valid trace of nothing', () => {
    const { traceEvents, otherData } = chromeTrace({});
    expect(traceEvents.every(({ ph }) => ph === 'M')).to.equal(true);
    expect(otherData).to.deep.equal({});
  });
});

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

describe('genAiSpanAttributes', () => {
  const request: GenAiRequest = {
    info: {
      engine: 'webgpu',
      version: '0.1.0',
      model: {
        id: 'tutor',
        architecture: 'llama',
        quantization: 'Q4_0',
        layers: 8,
        hiddenSize: 256,
        heads: 4,
        kvHeads: 2,
        headDim: 64,
        vocabSize: 2048,
        contextTokens: 2048,
        parameters: 6_500_000,
        weightBytes: 3_700_000,
        kvBytesPerToken: 8192,
        fingerprint: 'f',
      },
    },
    trace: handMadeTrace([500, 520, 540], {
      requestId: 'r1',
      usage: { promptTokens: 24, cachedTokens: 16, completionTokens: 3 },
    }),
    sampling: { temperature: 0.7, topP: 0.9 },
    finishReason: 'stop',
  };

  it('genAiSpanAttributes: names of the conventions, in seconds and tokens, and nothing that is absent', () => {
    expect(genAiSpanAttributes(request)).to.deep.equal({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'tokenglass',
      'gen_ai.request.model': 'tutor',
      'gen_ai.response.model': 'tutor',
      'gen_ai.response.id': 'r1',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.7,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': 0.5,
      'gen_ai.usage.input_tokens': 24,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.usage.cache_read.input_tokens': 16,
      'tokenglass.engine': 'webgpu',
      'tokenglass.version': '0.1.0',
      'tokenglass.model.quantization': 'Q4_0',
      'tokenglass.page.hidden': false,
    });
  });

  it('genAiMeasurements: the histograms a request adds to', () => {
    const values = Object.fromEntries(
      genAiMeasurements(request)
        .filter(({ unit }) => unit === 's')
        .map(({ name, value }) => [name, value]),
    );
    expect(values).to.deep.equal({
      'gen_ai.client.operation.duration': 0.54,
      'gen_ai.client.operation.time_to_first_chunk': 0.5,
      'gen_ai.server.time_to_first_token': 0.5,
      'gen_ai.server.time_per_output_token': 0.02,
    });
    const tokens = genAiMeasurements(request).filter(({ unit }) => unit === '{token}');
    expect(tokens.map(({ value, attributes }) => [attributes['gen_ai.token.type'], value])).to.deep.equal([
      ['input', 24],
      ['output', 3],
    ]);
  });

  it('genAiMeasurements: a failed request adds no time per token', () => {
    const names = genAiMeasurements({ ...request, errorType: 'device-lost' }).map(({ name }) => name);
    expect(names).to.not.include('gen_ai.server.time_per_output_token');
    expect(genAiMeasurements({ ...request, errorType: 'device-lost' })[0]!.attributes['error.type']).to.equal(
      'device-lost',
    );
  });
});
