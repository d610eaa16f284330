import { systemClock } from '../../shared/clock.ts';
import type { OutputToken } from '../../shared/generation.ts';
import type { EngineInfo, ModelInfo } from '../../shared/info.ts';
import { wasPageHidden } from '../../shared/page-hidden.ts';
import { modelNumber } from '../../shared/model-number.ts';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import type { EngineEvents } from '../../runtime/request/engine.ts';
import { DeliveryLog, type Delivery } from '../../runtime/metrics/delivery.ts';
import { diagnose, type Diagnosis } from '../../runtime/metrics/diagnosis.ts';
import { itl } from '../../runtime/metrics/itl.ts';
import { prefillRate } from '../../runtime/metrics/rates.ts';
import { RingBuffer } from '../../runtime/metrics/ring-buffer.ts';
import { summarizeSpeculation, type SpeculationSummary } from '../../runtime/metrics/speculation.ts';
import type { DevicePeaks } from '../../runtime/metrics/step-split.ts';
import { TraceLog } from '../../runtime/metrics/trace-log.ts';
import type { ContextSample } from '../context-chart/context-samples.ts';
import { LiveFiguresModel, LivePhase, type LiveFigures, type Outcome } from '../overlay/live-figures.ts';
import type { StepDevice } from '../steps/step-parts.ts';
import type { TokenTick } from '../steps/ticks.ts';
import { TokenHistory } from './token-history.ts';

/** Steps that a diagnosis is the mean of: enough to be steady, few enough to follow a change. */
const DIAGNOSED = { decode: 64, prefill: 8 } as const;
/** Steps whose context length is drawn. */
const CONTEXT_STEPS = 1024;
/** Steps that the figures of drafts are of. */
const DRAFTED_STEPS = 512;
/** Gaps of the session that are kept for their distribution. */
const SESSION_GAPS = 4096;

const hasKnownSize = (model: ModelInfo): boolean =>
  (['parameters', 'weightBytes', 'kvBytesPerToken'] as const).every((name) => modelNumber(model, name) !== undefined);

const deviceOf = (info: EngineInfo): StepDevice => (info.threads === undefined ? 'gpu' : 'cpu');

/**
 * What a dashboard shows, from the events of one engine and of a chat in this page. Everything is kept in bounded memory.
 */
export class DashboardModel {
  readonly log = new TraceLog({ isHidden: wasPageHidden });
  readonly #deliveries = new DeliveryLog(systemClock);
  readonly #live = new LiveFiguresModel();
  readonly #tokens = new TokenHistory();
  readonly #gapsMs = new RingBuffer<number>(SESSION_GAPS);
  #requestId = '';
  #answers = 0;
  #hiddenAnswers = 0;
  #countedId: string | undefined;
  #trace: RequestTrace | undefined;
  /** The engine's trace of the chat's request: the chat's own knows whether the page was hidden, but there is none of a stopped one. */
  #held: RequestTrace | undefined;
  /** A chat's tokens are exact and have ids; without one, ends of steps stand for them until the trace is there. */
  #followsPage = false;
  #lastKind: StepTrace['kind'] | undefined;

  /** Another engine: what was measured says nothing of it. */
  clear(): void {
    this.log.clear();
    this.#deliveries.clear();
    this.#live.clear();
    this.#tokens.clear();
    this.#gapsMs.clear();
    this.#answers = this.#hiddenAnswers = 0;
    this.#trace = this.#held = undefined;
    this.#followsPage = false;
  }

  onStep(step: StepTrace): void {
    this.log.addStep(step);
    if (!this.#live.onStep(step)) return;
    const endedMs = step.startedAtMs + step.timing.totalMs;
    // The end of the last prefill chunk is where the first token is known.
    if (step.kind === 'prefill') this.#tokens.clear();
    for (let token = 0; token <= (step.accepted ?? 0); token++) this.#tokens.add({ atMs: endedMs });
    this.#lastKind = step.kind;
  }

  onRequest(request: EngineEvents['request']): void {
    this.log.addRequest(request);
    this.#live.onRequest(request);
    if (this.#followsPage) {
      this.#held = request.trace;
      return;
    }
    this.#count(request.trace);
    this.#trace ??= request.trace;
    if (request.trace.tokenTimesMs.length === 0 || this.#lastKind === undefined) return;
    this.#lastKind = undefined;
    this.#trace = request.trace;
    this.#tokens.clear();
    for (const atMs of request.trace.tokenTimesMs) this.#tokens.add({ atMs });
  }

  onCall(): void {
    this.#live.onCall();
    this.#followsPage = true;
    this.#tokens.clear();
    this.#trace = this.#held = undefined;
  }

  onStart(start: { requestId: string; promptTokens: number; cachedTokens: number }): void {
    this.#live.onStart(start);
    this.#requestId = start.requestId;
  }

  onFirstText(ttftMs: number): void {
    this.#live.onFirstText(ttftMs);
  }

  onTokens(tokens: readonly OutputToken[], deliveredMs: number): void {
    this.#live.onTokens(tokens);
    this.#deliveries.delta(this.#requestId, tokens, deliveredMs);
    for (const { atMs, id } of tokens) this.#tokens.add({ atMs, id, deliveredMs });
  }

  onEnd(trace: RequestTrace | undefined, outcome: Outcome): void {
    this.#live.onEnd(trace, outcome);
    this.#followsPage = false;
    this.#lastKind = undefined;
    this.#trace = trace ?? this.#held ?? this.#trace;
    const counted = trace ?? this.#held;
    if (counted) this.#count(counted);
  }

  onHidden(): void {
    this.#live.onHidden();
    this.#tokens.pause();
  }

  onShown(atMs: number): void {
    this.#live.onShown(atMs);
    this.#tokens.resume(atMs);
  }

  /** The chat's latest. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries.deliveries;
  }

  get figures(): LiveFigures {
    return this.#live.read();
  }

  /** Of the latest answer that ended; absent while one is on. */
  get prefillTokensPerSecond(): number | undefined {
    return this.#trace && prefillRate(this.#trace);
  }

  /** Of the latest steps; absent while none of them verified drafts. */
  get speculation(): SpeculationSummary | undefined {
    return summarizeSpeculation(this.log.latestSteps('decode', DRAFTED_STEPS).map(({ step }) => step));
  }

  /** Tokens that have KV now. */
  get usedTokens(): number | undefined {
    return this.log.latestStep?.step.contextTokens;
  }

  ticks(info: EngineInfo | undefined): TokenTick[] {
    const device = info ? deviceOf(info) : 'gpu';
    return this.#tokens.ticks(this.log.latestSteps('decode', this.#tokens.length + 64), device);
  }

  /** Gaps of all answers of this engine, and of the one that is on. */
  gaps(): { gapsMs: number[]; of: string } {
    const live = this.figures.phase === LivePhase.streaming ? this.#live.gapsMs : [];
    const answers = `${this.#answers} ${this.#answers === 1 ? 'answer' : 'answers'}`;
    const words = [
      live.length === 0
        ? `of ${answers}`
        : this.#answers === 0
          ? 'of the answer that is on'
          : `of ${answers} and the one that is on`,
      ...(this.#gapsMs.dropped > 0 ? [`the latest ${SESSION_GAPS}`] : []),
      ...(this.#hiddenAnswers > 0 ? [`${this.#hiddenAnswers} left out because the page was hidden`] : []),
    ];
    return { gapsMs: [...this.#gapsMs.toArray(), ...live], of: words.join('; ') };
  }

  contextSamples(): ContextSample[] {
    return this.log
      .latestSteps('decode', CONTEXT_STEPS)
      .filter(({ hidden }) => !hidden)
      .map(({ step, window }) => ({ contextTokens: step.contextTokens, ms: window.ownMs + window.gapMs }));
  }

  diagnose(kind: StepTrace['kind'], info: EngineInfo, peaks: DevicePeaks): Diagnosis {
    return diagnose(this.log.latestSteps(kind, DIAGNOSED[kind]), kind, {
      device: deviceOf(info),
      peaks,
      // Bytes and FLOP are estimated from it: of a size that is not known there is nothing to estimate.
      ...(hasKnownSize(info.model) && { model: info.model }),
    });
  }

  #count(trace: RequestTrace): void {
    if (trace.requestId === this.#countedId) return;
    this.#countedId = trace.requestId;
    if (trace.hidden) {
      this.#hiddenAnswers += 1;
      return;
    }
    this.#answers += 1;
    for (const gapMs of itl(trace)) this.#gapsMs.push(gapMs);
  }
}
