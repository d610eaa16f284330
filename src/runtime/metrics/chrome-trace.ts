import { ttftParts, TTFT_PARTS } from './ttft.ts';
import { deliveryMs, type Delivery } from './delivery.ts';
import { partsInWindow, TIMED_PARTS } from './parts-in-window.ts';
import type { RecordedRequest, RecordedStep } from './trace-log.ts';

/**
 * One event of the Trace Event Format ("Trace Event Format", Google, 2016), as Perfetto and chrome://tracing read it: `X` is a span, `M` a name,
 * `C` a counter, `i` an instant. Times are in microseconds.
 */
export type ChromeTraceEvent =
  | {
      ph: 'X';
      name: string;
      cat: string;
      ts: number;
      dur: number;
      pid: number;
      tid: number;
      args?: Record<string, unknown>;
    }
  | { ph: 'M'; name: string; pid: number; tid?: number; args: Record<string, unknown> }
  | { ph: 'C'; name: string; ts: number; pid: number; args: Record<string, number> }
  | {
      ph: 'i';
      name: string;
      cat: string;
      ts: number;
      pid: number;
      tid: number;
      s: 't';
      args?: Record<string, unknown>;
    };

export interface ChromeTrace {
  traceEvents: ChromeTraceEvent[];
  displayTimeUnit: 'ms';
  otherData: Record<string, string>;
}

/** What is written; `TraceLog` and `DeliveryLog` have it. */
export interface TraceContent {
  requests?: readonly RecordedRequest[];
  steps?: readonly RecordedStep[];
  deliveries?: readonly Delivery[];
  /** Model, engine, browser: shown by Perfetto under "Info". */
  about?: Record<string, string>;
}

const PID = 1;
/** Tracks; requests that overlap take further pairs of them, for themselves and for their tokens, from {@link REQUESTS} on. */
const STEPS = 1;
const PARTS = 2;
const GPU = 3;
const DELIVERY = 4;
const REQUESTS = 100;
const requestTrack = (lane: number): number => REQUESTS + 2 * lane;
/** Apart, as tokens go on while the first text is on its way: a page that stalls must not look like a slow token. */
const tokenTrack = (lane: number): number => requestTrack(lane) + 1;

/**
 * Requests, prefill chunks, decode steps with their parts, GPU work and deliveries as a trace that Perfetto and chrome://tracing open. The
 * first event is at 0; times of the clock are in `otherData.startedAt`.
 *
 * @example
 * ```ts
 * const trace = chromeTrace({ requests: log.requests, steps: log.steps });
 * link.href = URL.createObjectURL(new Blob([JSON.stringify(trace)], { type: 'application/json' }));
 * ```
 */
export function chromeTrace({ requests = [], steps = [], deliveries = [], about = {} }: TraceContent): ChromeTrace {
  const starts = [
    ...requests.map(({ trace }) => trace.marks.calledMs),
    ...steps.map(({ step }) => step.startedAtMs),
    ...deliveries.map(({ tokenMs }) => tokenMs),
  ];
  const originMs = starts.reduce((first, startMs) => Math.min(first, startMs), Infinity);
  const writer = new TraceWriter(Number.isFinite(originMs) ? originMs : 0);
  const lanes = writeRequests(writer, requests);
  for (const recorded of steps) writeStep(writer, recorded);
  for (const { shown, delivery } of withoutOverlap(deliveries)) {
    const { requestId, tokens } = delivery;
    const args = { requestId, tokens, waitedMs: deliveryMs(delivery) };
    writer.span(DELIVERY, 'delivery', 'delivery', shown.fromMs, shown.toMs, args);
  }
  return {
    traceEvents: [...names(lanes, writer.tracks), ...writer.events],
    displayTimeUnit: 'ms',
    otherData: {
      ...about,
      ...(Number.isFinite(originMs) && { startedAt: new Date(originMs).toISOString() }),
    },
  };
}

/** Puts spans on tracks, in microseconds since the first. */
class TraceWriter {
  readonly events: ChromeTraceEvent[] = [];
  /** Tracks that have something on them. */
  readonly tracks = new Set<number>();
  readonly #originMs: number;

  constructor(originMs: number) {
    this.#originMs = originMs;
  }

  span(tid: number, cat: string, name: string, fromMs: number, toMs: number, args?: Record<string, unknown>): void {
    this.tracks.add(tid);
    const ts = this.#us(fromMs);
    const dur = Math.max(0, this.#us(toMs) - ts);
    this.events.push({ ph: 'X', name, cat, ts, dur, pid: PID, tid, ...(args && { args }) });
  }

  instant(tid: number, cat: string, name: string, atMs: number, args?: Record<string, unknown>): void {
    this.events.push({ ph: 'i', name, cat, ts: this.#us(atMs), pid: PID, tid, s: 't', ...(args && { args }) });
  }

  counter(name: string, atMs: number, value: number, unit: string): void {
    this.events.push({ ph: 'C', name, ts: this.#us(atMs), pid: PID, args: { [unit]: value } });
  }

  /** To the nanosecond: doubles of epoch milliseconds have no more. */
  #us(ms: number): number {
    return Math.round((ms - this.#originMs) * 1e6) / 1e3;
  }
}

/** Spans of one track must nest, so requests that overlap go to tracks of their own. @returns how many were needed */
function writeRequests(writer: TraceWriter, requests: readonly RecordedRequest[]): number {
  const freeAtMs: number[] = [];
  const byCall = requests.toSorted((a, b) => a.trace.marks.calledMs - b.trace.marks.calledMs);
  for (const { outcome, trace } of byCall) {
    const { marks, usage, tokenTimesMs, requestId, hidden } = trace;
    const endMs = Math.max(...Object.values({ ...marks }));
    let lane = freeAtMs.findIndex((freeMs) => freeMs <= marks.calledMs);
    if (lane < 0) lane = freeAtMs.length;
    freeAtMs[lane] = endMs;
    const tid = requestTrack(lane);
    writer.span(tid, 'request', `request ${requestId}`, marks.calledMs, endMs, { outcome, ...usage, hidden });
    const parts = ttftParts(trace);
    let sinceMs = marks.calledMs;
    for (const [part] of TTFT_PARTS) {
      const ms = parts?.[part];
      if (ms === undefined) continue;
      writer.span(tid, 'ttft', part.replace(/Ms$/, ''), sinceMs, sinceMs + ms);
      sinceMs += ms;
    }
    // Tokens after the first: the time each took. The first is the end of prefill.
    for (const [index, atMs] of tokenTimesMs.entries()) {
      const previousMs = tokenTimesMs[index - 1];
      if (previousMs === undefined) writer.instant(tid, 'token', 'first token', atMs);
      else writer.span(tokenTrack(lane), 'token', `token ${index + 1}`, previousMs, atMs);
    }
  }
  return freeAtMs.length;
}

function writeStep(writer: TraceWriter, { step, window, hidden }: RecordedStep): void {
  const { kind, batch, tokens, contextTokens, bytes, flop, dispatches, drafted, accepted = 0 } = step;
  const { fromMs, toMs } = window;
  const args = {
    batch,
    tokens,
    contextTokens,
    ...(drafted !== undefined && { drafted, accepted }),
    ...(bytes && { bytes }),
    ...(flop !== undefined && { flop }),
    ...(dispatches !== undefined && { dispatches }),
    ...(hidden && { hidden }),
  };
  writer.span(STEPS, kind, kind === 'prefill' ? `prefill ${tokens}` : 'decode', fromMs, toMs, args);
  if (kind === 'decode') {
    // Of each sequence: drafts that are right make several tokens of a step.
    writer.counter('ms per token', toMs, ((window.ownMs + window.gapMs) * batch) / (batch + accepted), 'ms');
    writer.counter('context', toMs, contextTokens, 'tokens');
  }
  const { parts } = partsInWindow({ step, window });
  let untilMs = toMs;
  for (const part of TIMED_PARTS.toReversed()) {
    const ms = parts[part] ?? 0;
    if (ms <= 0) continue;
    writer.span(part === 'gpuMs' ? GPU : PARTS, 'step', part.replace(/Ms$/, ''), untilMs - ms, untilMs);
    untilMs -= ms;
  }
}

/** Deliveries that wait together end together; on one track each begins where the one before ended. */
function withoutOverlap(
  deliveries: readonly Delivery[],
): { delivery: Delivery; shown: { fromMs: number; toMs: number } }[] {
  let freeAtMs = -Infinity;
  return deliveries.map((delivery) => {
    const fromMs = Math.min(Math.max(delivery.tokenMs, freeAtMs), Math.max(delivery.deliveredMs, freeAtMs));
    const toMs = Math.max(delivery.deliveredMs, fromMs);
    freeAtMs = toMs;
    return { delivery, shown: { fromMs, toMs } };
  });
}

function names(requestLanes: number, used: ReadonlySet<number>): ChromeTraceEvent[] {
  const tracks: [tid: number, name: string][] = [
    ...Array.from({ length: requestLanes }, (_, lane) => {
      const number = lane === 0 ? '' : ` (${lane + 1})`;
      return [
        [requestTrack(lane), `Requests${number}`],
        [tokenTrack(lane), `Tokens${number}`],
      ] satisfies [number, string][];
    }).flat(),
    [STEPS, 'Steps'],
    [PARTS, 'Step parts (CPU)'],
    [GPU, 'GPU'],
    [DELIVERY, 'Delivery to the page'],
  ];
  return [
    { ph: 'M', name: 'process_name', pid: PID, args: { name: 'Tokenglass' } },
    ...tracks
      .filter(([tid]) => used.has(tid))
      .flatMap(([tid, name], index): ChromeTraceEvent[] => [
        { ph: 'M', name: 'thread_name', pid: PID, tid, args: { name } },
        { ph: 'M', name: 'thread_sort_index', pid: PID, tid, args: { sort_index: index } },
      ]),
  ];
}
