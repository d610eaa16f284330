import { systemClock, type Clock } from '../../shared/clock.ts';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import type { EngineEvents } from '../../runtime/request/engine.ts';
import { LiveLatencyWindow, type LiveLatency } from '../../runtime/metrics/live.ts';
import { decodeRate } from '../../runtime/metrics/rates.ts';
import { ttft, ttftParts, type TtftParts } from '../../runtime/metrics/ttft.ts';

/** Where the request that is shown is. */
export const LivePhase = {
  idle: 'idle',
  waiting: 'waiting',
  prefill: 'prefill',
  streaming: 'streaming',
  done: 'done',
  stopped: 'stopped',
  failed: 'failed',
} as const;
export type LivePhase = (typeof LivePhase)[keyof typeof LivePhase];

const ENDED = { completed: LivePhase.done, aborted: LivePhase.stopped, failed: LivePhase.failed } as const;

/** How a request ended. */
export type Outcome = EngineEvents['request']['outcome'];

/** What an overlay shows; whatever is not known is absent. */
export interface LiveFigures {
  phase: LivePhase;
  ttftMs?: number;
  parts?: TtftParts;
  latency: LiveLatency;
  /** Of the stream so far, and 1000 / TPOT once it has ended. */
  tokensPerSecond?: number;
  promptTokens?: number;
  cachedTokens?: number;
  outputTokens: number;
}

/** Gaps that are kept for the strip and for percentiles. */
const WINDOW = 512;

/**
 * Figures of the latest request, from the events of a chat in this page, of the engine, or of both. A chat knows when text reached the
 * page and which tokens are its own; where there is none, ends of the engine's steps stand for token times.
 */
export class LiveFiguresModel {
  readonly #window = new LiveLatencyWindow(WINDOW);
  #gapsMs: number[] = [];
  #lastTokenMs: number | undefined;
  /** Tokens up to here were made while the page was hidden, or before: a gap to the next one may be longer for it. */
  #hiddenUntilMs = -Infinity;
  #phase: LivePhase = LivePhase.idle;
  #outputTokens = 0;
  #ttftMs: number | undefined;
  #trace: RequestTrace | undefined;
  #prompt: { promptTokens: number; cachedTokens: number } | undefined;
  /** The request of a chat that is on or was the latest; its chat's word counts more than the engine's. */
  #pageRequestId: string | undefined;
  #followsPage = false;
  /** What the engine said of the chat's request before the chat did. */
  #held: RequestTrace | undefined;
  /** The chat's request has ended in the page, and the engine, which may be some steps behind an abort, has yet to say so. */
  #awaitsEngine = false;
  /** When the request that is shown ended: a step that began before was made for it, or ahead of it, and begins no other one. */
  #endedMs = -Infinity;
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Gaps between tokens of this request, ms, the newest last; at most the latest {@link WINDOW}. */
  get gapsMs(): readonly number[] {
    return this.#gapsMs;
  }

  read(): LiveFigures {
    const latency = this.#window.read();
    const trace = this.#trace;
    const parts = trace && ttftParts(trace);
    const ttftMs = (trace && ttft(trace)) ?? this.#ttftMs;
    const tokensPerSecond = (trace && decodeRate(trace)) ?? latency.tokensPerSecond;
    return {
      phase: this.#phase,
      latency,
      outputTokens: this.#outputTokens,
      ...this.#prompt,
      ...(ttftMs !== undefined && { ttftMs }),
      ...(parts && { parts }),
      ...(tokensPerSecond !== undefined && { tokensPerSecond }),
    };
  }

  /** Forgets everything. */
  clear(): void {
    this.#begin(LivePhase.idle);
    this.#followsPage = false;
    this.#pageRequestId = undefined;
  }

  /** A chat called the engine. */
  onCall(): void {
    this.#begin(LivePhase.waiting);
    this.#followsPage = true;
    this.#pageRequestId = undefined;
  }

  /** The engine took the chat's request. */
  onStart(start: { requestId: string; promptTokens: number; cachedTokens: number }): void {
    this.#phase = LivePhase.prefill;
    this.#pageRequestId = start.requestId;
    const { promptTokens, cachedTokens } = start;
    // No prompt has no tokens: a server has not told them yet.
    if (promptTokens > 0) this.#prompt = { promptTokens, cachedTokens };
  }

  onFirstText(ttftMs: number): void {
    this.#phase = LivePhase.streaming;
    this.#ttftMs = ttftMs;
  }

  onTokens(times: readonly { atMs: number }[]): void {
    if (!this.#followsPage) return;
    for (const { atMs } of times) this.#token(atMs);
  }

  /** The chat's request ended; without a trace if it was stopped or failed. */
  onEnd(trace: RequestTrace | undefined, outcome: Outcome): void {
    // Forgotten meanwhile: it was another engine's.
    if (!this.#followsPage) return;
    this.#followsPage = false;
    this.#awaitsEngine = this.#pageRequestId !== undefined && this.#held === undefined;
    this.#phase = ENDED[outcome];
    this.#trace = trace ?? this.#held;
    this.#endedMs = this.#clock.now();
  }

  /** @returns whether the step stands for tokens that are shown: a chat tells its own, and a step in flight at the end of a request has none */
  onStep(step: StepTrace): boolean {
    if (this.#followsPage || this.#awaitsEngine || step.startedAtMs <= this.#endedMs) return false;
    const endedMs = step.startedAtMs + step.timing.totalMs;
    if (step.kind === 'prefill') {
      if (this.#phase !== LivePhase.prefill) this.#begin(LivePhase.prefill);
      this.#lastTokenMs = undefined;
    } else if (this.#phase !== LivePhase.streaming) {
      if (this.#phase !== LivePhase.prefill) this.#begin(LivePhase.streaming);
      this.#phase = LivePhase.streaming;
    }
    for (let token = 0; token <= (step.accepted ?? 0); token++) this.#token(endedMs, step.kind === 'decode');
    return true;
  }

  onRequest({ outcome, trace }: EngineEvents['request']): void {
    const isOfPage = trace.requestId === this.#pageRequestId;
    if (isOfPage) {
      this.#awaitsEngine = false;
      this.#endedMs = Math.max(this.#endedMs, trace.marks.endedMs ?? -Infinity);
    }
    // The page's trace of the same request has its times of delivery; the engine's is only needed where the page got none.
    if (isOfPage && this.#followsPage) this.#held = trace;
    if (this.#followsPage || (isOfPage && outcome === 'completed')) return;
    if (!isOfPage) this.#replay(trace);
    this.#trace = trace;
    this.#phase = ENDED[outcome];
    this.#endedMs = trace.marks.endedMs ?? this.#clock.now();
  }

  /** The page is hidden: gaps say nothing until it is shown. */
  onHidden(): void {
    this.#hiddenUntilMs = Infinity;
    this.#breakGap();
  }

  onShown(atMs: number): void {
    this.#hiddenUntilMs = atMs;
  }

  #breakGap(): void {
    this.#window.breakGap();
    this.#lastTokenMs = undefined;
  }

  #begin(phase: LivePhase): void {
    this.#phase = phase;
    this.#window.clear();
    this.#gapsMs = [];
    this.#lastTokenMs = undefined;
    this.#outputTokens = 0;
    this.#ttftMs = undefined;
    this.#trace = undefined;
    this.#held = undefined;
    this.#awaitsEngine = false;
    this.#endedMs = -Infinity;
    this.#prompt = undefined;
  }

  /** The trace has the times of tokens themselves, which take the place of those of steps. */
  #replay(trace: RequestTrace): void {
    this.#begin(LivePhase.done);
    const { promptTokens, cachedTokens, unknown } = trace.usage;
    if (!unknown?.includes('promptTokens')) this.#prompt = { promptTokens, cachedTokens };
    for (const atMs of trace.tokenTimesMs) this.#token(atMs);
  }

  #token(atMs: number, counts = true): void {
    if (counts) this.#outputTokens += 1;
    if (atMs <= this.#hiddenUntilMs) {
      this.#breakGap();
      return;
    }
    this.#window.token(atMs);
    if (this.#lastTokenMs !== undefined) {
      this.#gapsMs.push(atMs - this.#lastTokenMs);
      if (this.#gapsMs.length > 2 * WINDOW) this.#gapsMs = this.#gapsMs.slice(-WINDOW);
    }
    this.#lastTokenMs = atMs;
  }
}
