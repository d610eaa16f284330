import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import type { TraceSource } from './trace-log.ts';
import { stepWindow } from './step-window.ts';
import { ttft } from './ttft.ts';

/** What is needed of `performance`. */
export interface UserTiming {
  readonly timeOrigin: number;
  measure(name: string, options: { start: number; end: number; detail: unknown }): unknown;
  clearMeasures(name: string): void;
}

/**
 * Metadata that puts an entry on a track of the Performance panel of Chrome DevTools
 * (https://developer.chrome.com/docs/devtools/performance/extension).
 */
export interface DevToolsTrackEntry {
  dataType: 'track-entry';
  track: string;
  trackGroup: 'Tokenglass';
  color: 'primary' | 'primary-light' | 'secondary' | 'secondary-light' | 'tertiary' | 'tertiary-light' | 'error';
  tooltipText: string;
  properties: [name: string, value: string][];
}

export interface UserTimingOptions {
  /** @default `performance` */
  performance?: UserTiming;
  /** Entries of ours that stay in the browser's buffer; the panel has recorded those that are cleared. @default 500 */
  limit?: number;
}

const TRACKS = { requests: 'Requests', prefill: 'Prefill', tokens: 'Tokens', delivery: 'First delivery' } as const;
const NAMES = {
  request: 'tokenglass request',
  ttft: 'tokenglass first token',
  prefill: 'tokenglass prefill',
  token: 'tokenglass token',
  delivery: 'tokenglass delivery',
} as const;

/**
 * Writes steps and requests as `performance.measure` entries with track metadata, so that the Performance panel shows prefill and each token on
 * tracks of their own beside the page's work. Bounded: when `limit` entries are there, all of ours are cleared.
 *
 * @example
 * ```ts
 * const stop = new UserTimingWriter().attach(engine.metrics);
 * ```
 */
export class UserTimingWriter {
  readonly #performance: UserTiming;
  readonly #limit: number;
  #entries = 0;
  #previousEndMs: number | undefined;

  constructor({ performance = globalThis.performance, limit = 500 }: UserTimingOptions = {}) {
    this.#performance = performance;
    this.#limit = limit;
  }

  /** Writes the events of `source` until the returned function is called, which also clears what was written. */
  attach(source: TraceSource): () => void {
    const offs = [
      source.on('step', (step) => this.step(step)),
      source.on('request', ({ outcome, trace }) => this.request(outcome, trace)),
    ];
    return () => {
      for (const off of offs.splice(0)) off();
      this.clear();
    };
  }

  step(step: StepTrace): void {
    const { fromMs, toMs, ownMs } = stepWindow(step, this.#previousEndMs);
    this.#previousEndMs = toMs;
    const { kind, batch, tokens, contextTokens, timing, dispatches, drafted, accepted = 0 } = step;
    const isPrefill = kind === 'prefill';
    const made = batch + accepted;
    this.#measure(isPrefill ? NAMES.prefill : NAMES.token, fromMs, toMs, {
      track: isPrefill ? TRACKS.prefill : TRACKS.tokens,
      color: isPrefill ? 'secondary' : 'primary',
      tooltipText: isPrefill
        ? `Prefill of ${tokens} tokens: ${ms(ownMs)}`
        : `${made === 1 ? 'Token' : `${made} tokens`}: ${ms(ownMs)}`,
      properties: [
        ['Batch', String(batch)],
        ['Context', `${contextTokens} tokens`],
        ...Object.entries(timing as unknown as Record<string, number>).map(([part, value]): [string, string] => [
          part.replace(/Ms$/, ''),
          ms(value),
        ]),
        ...(drafted === undefined ? [] : [['Drafts', `${drafted}, ${accepted} accepted`] satisfies [string, string]]),
        ...(dispatches === undefined ? [] : [['Dispatches', String(dispatches)] satisfies [string, string]]),
      ],
    });
  }

  request(outcome: string, trace: RequestTrace): void {
    const { marks, usage, requestId } = trace;
    const endMs = marks.lastDeliveredMs ?? marks.endedMs ?? marks.lastTokenMs;
    if (endMs === undefined) return;
    const ttftMs = ttft(trace);
    // A server may not tell them.
    const isKnown = (count: NonNullable<typeof usage.unknown>[number]): boolean => !usage.unknown?.includes(count);
    const cached = isKnown('cachedTokens') ? `, ${usage.cachedTokens} cached` : '';
    const properties: [string, string][] = [
      ['Outcome', outcome],
      ['Prompt', isKnown('promptTokens') ? `${usage.promptTokens} tokens${cached}` : 'unknown'],
      ['Output', isKnown('completionTokens') ? `${usage.completionTokens} tokens` : 'unknown'],
      ...(ttftMs === undefined ? [] : [['TTFT', ms(ttftMs)] satisfies [string, string]]),
    ];
    this.#measure(NAMES.request, marks.calledMs, endMs, {
      track: TRACKS.requests,
      color: outcome === 'failed' ? 'error' : 'tertiary',
      tooltipText: `Request ${requestId}: ${ms(endMs - marks.calledMs)}`,
      properties,
    });
    if (ttftMs === undefined) return;
    this.#measure(NAMES.ttft, marks.calledMs, marks.calledMs + ttftMs, {
      track: TRACKS.requests,
      color: 'tertiary-light',
      tooltipText: `Time to first token: ${ms(ttftMs)}`,
      properties: [],
    });
    const { firstTokenMs, firstDeliveredMs } = marks;
    if (firstTokenMs === undefined || firstDeliveredMs === undefined) return;
    this.#measure(NAMES.delivery, firstTokenMs, firstDeliveredMs, {
      track: TRACKS.delivery,
      color: 'secondary-light',
      tooltipText: `From the first token to its text in the page: ${ms(firstDeliveredMs - firstTokenMs)}`,
      properties: [],
    });
  }

  /** Takes all of our entries out of the browser's buffer. */
  clear(): void {
    for (const name of Object.values(NAMES)) this.#performance.clearMeasures(name);
    this.#entries = 0;
  }

  #measure(
    name: string,
    startMs: number,
    endMs: number,
    entry: Omit<DevToolsTrackEntry, 'dataType' | 'trackGroup'>,
  ): void {
    if (this.#entries >= this.#limit) this.clear();
    const { timeOrigin } = this.#performance;
    // A worker that started before the page's own origin cannot be shown before 0, which `measure` refuses.
    const start = Math.max(0, startMs - timeOrigin);
    const end = Math.max(start, endMs - timeOrigin);
    const devtools: DevToolsTrackEntry = { dataType: 'track-entry', trackGroup: 'Tokenglass', ...entry };
    this.#performance.measure(name, { start, end, detail: { devtools } });
    this.#entries += 1;
  }
}

const ms = (value: number): string => `${value.toFixed(2)} ms`;
