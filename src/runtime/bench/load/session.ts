import { abortError } from '../../../shared/errors.ts';
import type { Engine } from '../../request/engine.ts';
import { measureRequest, toSample, type Sample } from '../sample.ts';
import { PauseGate } from './pause-gate.ts';
import { Recorder, type Stage } from './recorder.ts';
import { RequestSource, spokenAfter, type PreparedRequest, type Spoken } from './request-source.ts';
import { systemTimer, type Timer } from './timer.ts';
import { isOneUser, type Workload } from './workload.ts';

/** How far a run is. */
export interface Progress {
  /** Name of the engine. */
  engine: string;
  /** `prepare`: prompts are being made; `drain`: nothing more is sent, answers are awaited. */
  stage: 'prepare' | Stage | 'drain';
  /** Requests that ended, well or not; prompts that were made in `prepare`. */
  done: number;
  /** Of those; absent where time decides. */
  of?: number;
  failed: number;
  /** Sent and not ended. */
  underWay: number;
  /** Of the measured part, ms. */
  elapsedMs: number;
  /** Until the end, ms; absent where nobody knows. */
  leftMs?: number;
  /** Half the width of the 95 % interval of TTFT p95, as a share of it; absent while there is none. */
  p95HalfWidth?: number;
  /** What has just been measured; absent if that was something else. */
  sample?: Sample;
}

export interface SessionHooks {
  onProgress?: ((progress: Progress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** One engine under one workload: what closed and open loops share. Times are on the axis of the run, which stands still in a pause. */
export class Session {
  readonly engine: Engine;
  readonly workload: Workload;
  readonly timer: Timer;
  readonly gate: PauseGate;
  readonly source: RequestSource;
  readonly recorder = new Recorder();
  hooks: SessionHooks = {};
  /** When the measured part began; absent before. */
  steadyFromMs: number | undefined;
  /** When the last measured request ended. */
  steadyEndedMs = 0;
  /** Most requests under way at once. */
  mostUnderWay = 0;
  steadySent = 0;
  #originMs: number | undefined;
  #pausedBeforeMs = 0;
  #underWay = 0;
  #nextConversation = 0;

  constructor(engine: Engine, workload: Workload, timer: Timer = systemTimer, gate = new PauseGate(timer)) {
    this.engine = engine;
    this.workload = workload;
    this.timer = timer;
    this.gate = gate;
    this.source = new RequestSource(engine, workload);
  }

  /** The axis begins now; called again, it goes on as if it were still `leftOffMs`. */
  startAxis(leftOffMs?: number): void {
    if (this.#originMs === undefined) {
      this.#originMs = this.timer.now();
      this.#pausedBeforeMs = this.gate.totalMs;
    } else this.#originMs += this.nowMs() - (leftOffMs ?? this.nowMs());
  }

  /** Time on the axis. */
  nowMs(): number {
    return this.timer.now() - this.#origin();
  }

  get elapsedMs(): number {
    return this.steadyFromMs === undefined ? 0 : this.nowMs() - this.steadyFromMs;
  }

  /** Requests that have no end yet. */
  get underWay(): number {
    return this.#underWay;
  }

  takeConversation(): number {
    return this.#nextConversation++;
  }

  get nextConversation(): number {
    return this.#nextConversation;
  }

  /** A conversation: its turns one after another, with `think` between them. Ends early if a turn fails or does not fit. */
  async converse(
    conversation: number,
    beforeTurn: (turn: number) => Promise<{ stage: Stage; plannedMs?: number } | undefined>,
  ): Promise<void> {
    let spoken: Spoken | undefined;
    for (let turn = 0; turn < this.workload.turns; turn++) {
      const prepared = await this.prepared(conversation, turn, spoken);
      if (!prepared) return;
      const due = await beforeTurn(turn);
      if (!due) return;
      spoken = await this.send(prepared, due.stage, due.plannedMs);
      if (!spoken) return;
    }
  }

  prepared(conversation: number, turn: number, spoken: Spoken | undefined): Promise<PreparedRequest | undefined> {
    return spoken ? this.source.later(conversation, turn, spoken) : this.source.first(conversation);
  }

  /**
   * Sends a request and records what comes of it.
   * @param plannedMs when it was due, by the timer; absent: now
   * @returns what was said then; nothing for a failure, which is recorded and not thrown
   * @throws AbortError once the run is cancelled
   */
  async send(prepared: PreparedRequest, stage: Stage, plannedMs?: number): Promise<Spoken | undefined> {
    const { signal } = this.hooks;
    const { plan, request } = prepared;
    const sentMs = this.timer.now();
    const originMs = this.#origin();
    if (stage === 'steady') this.steadySent += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.#underWay);
    let sample: Sample | undefined;
    try {
      const measured = await measureRequest(this.engine, request, {
        clock: this.timer,
        calledAtMs: plannedMs ?? sentMs,
        signal,
      });
      sample = toSample(measured, {
        index: plan.index,
        warmUp: stage === 'warm-up',
        ...(stage === 'cool-down' && { coolDown: true }),
        ...(this.workload.turns > 1 && { conversation: plan.conversation, turn: plan.turn }),
        ...(plannedMs !== undefined && { dispatchDelayMs: sentMs - plannedMs }),
        originMs,
      });
      this.recorder.add(sample);
      return spokenAfter(prepared, { text: sample.text, tokens: sample.promptTokens + sample.outputTokens });
    } catch (error) {
      if (signal?.aborted) throw abortError(signal);
      this.recorder.fail(plan.index, stage, error);
      return undefined;
    } finally {
      this.#underWay -= 1;
      if (stage === 'steady') this.steadyEndedMs = this.nowMs();
      if (!signal?.aborted) this.report(stage, sample);
    }
  }

  report(stage: Progress['stage'], sample?: Sample): void {
    const { onProgress } = this.hooks;
    if (!onProgress) return;
    const { samples, failures, p95HalfWidth } = this.recorder;
    const { stop, warmUpRequests } = this.workload;
    const leftMs = this.#leftMs();
    onProgress({
      engine: this.engine.info.engine,
      stage,
      done: samples.length + failures.length,
      ...(stop.requests !== undefined && !stop.durationMs && { of: warmUpRequests + stop.requests }),
      failed: failures.length,
      underWay: this.#underWay,
      elapsedMs: this.elapsedMs,
      ...(leftMs !== undefined && { leftMs }),
      ...(p95HalfWidth !== undefined && { p95HalfWidth }),
      ...(sample && { sample }),
    });
  }

  #leftMs(): number | undefined {
    const { stop, coolDownMs } = this.workload;
    const { steadyEnded } = this.recorder;
    const byTime = stop.durationMs === undefined ? Infinity : stop.durationMs - this.elapsedMs;
    const byCount =
      stop.requests === undefined || steadyEnded === 0
        ? Infinity
        : (this.elapsedMs / steadyEnded) * (stop.requests - steadyEnded);
    const leftMs = Math.min(byTime, byCount);
    return Number.isFinite(leftMs) ? Math.max(0, leftMs) + (isOneUser(this.workload) ? 0 : coolDownMs) : undefined;
  }

  #origin(): number {
    return (this.#originMs ?? this.timer.now()) + this.gate.totalMs - this.#pausedBeforeMs;
  }
}
