import type { Engine } from '../request/engine.ts';
import { conditionsOf } from './conditions.ts';
import { computeFigures } from './figures.ts';
import { conversationsAhead, runClosedLoop } from './load/closed-loop.ts';
import { planOpenLoop, runOpenLoop } from './load/open-loop.ts';
import type { PauseGate } from './load/pause-gate.ts';
import type { Stage } from './load/recorder.ts';
import type { Spoken } from './load/request-source.ts';
import { Session, type SessionHooks } from './load/session.ts';
import type { Timer } from './load/timer.ts';
import { checkWorkload, isOneUser, type Workload } from './load/workload.ts';
import { notesOf } from './notes.ts';
import type { Note, Run } from './report.ts';

export interface EngineRunOptions {
  /** @default the system's */
  timer?: Timer | undefined;
  /** Pauses the run. @default nothing does */
  gate?: PauseGate | undefined;
}

/**
 * One engine on its way through a workload: {@link run} does all of it; for one user, {@link next} goes request by request, so that
 * several engines can take turns.
 * @throws RangeError in words for a workload that cannot be run
 */
export class EngineRun {
  readonly #session: Session;
  #flushed = false;
  /** The window of the rates, where the plan says it. */
  #plannedEndMs: number | undefined;
  #leftOffMs: number | undefined;
  /** Requests that were under way when the run was cut short; absent if it was not. */
  #cutOff: number | undefined;
  #conversation: { number: number; turn: number; spoken: Spoken | undefined } | undefined;
  #sent = 0;

  constructor(engine: Engine, workload: Workload, { timer, gate }: EngineRunOptions = {}) {
    checkWorkload(workload);
    this.#session = new Session(engine, workload, timer, gate);
  }

  get isDone(): boolean {
    const { recorder, workload, steadyFromMs } = this.#session;
    const { stop, warmUpRequests } = workload;
    if (recorder.isHopeless) return true;
    if (this.#sent < warmUpRequests || steadyFromMs === undefined) return false;
    return (
      recorder.steadyEnded >= (stop.requests ?? Infinity) ||
      (this.#leftOffMs ?? 0) - steadyFromMs >= (stop.durationMs ?? Infinity) ||
      recorder.isPreciseEnough(stop)
    );
  }

  /** Runs to the end. @throws AbortError once the signal is aborted */
  async run(hooks: SessionHooks = {}): Promise<void> {
    if (isOneUser(this.#session.workload)) {
      while (!this.isDone) await this.next(hooks);
      return;
    }
    const session = this.#session;
    const { workload } = session;
    session.hooks = hooks;
    const isClosed = workload.arrivals.process === 'closed-loop';
    const plan = isClosed ? undefined : planOpenLoop(workload);
    if (plan) await this.#prepare(workload.warmUpRequests + plan.timesMs.length);
    session.startAxis();
    await this.#warmUp();
    if (isClosed) await this.#prepare(session.nextConversation + conversationsAhead(session));
    await this.#beginSteady();
    if (plan) {
      this.#plannedEndMs = plan.endMs;
      await runOpenLoop(session, plan, () => this.#isOver(plan));
    } else await runClosedLoop(session, this.#closedStage());
  }

  /** The next request of the one user there is; one that fails is recorded, not thrown. */
  async next(hooks: SessionHooks = {}): Promise<void> {
    hooks.signal?.throwIfAborted();
    const session = this.#session;
    session.hooks = hooks;
    if (this.#sent === this.#session.workload.warmUpRequests) await this.#flush();
    const { number, turn, spoken } = (this.#conversation ??= {
      number: session.takeConversation(),
      turn: 0,
      spoken: undefined,
    });
    const prepared = await session.prepared(number, turn, spoken);
    if (!prepared) {
      this.#conversation = undefined; // the next turn does not fit: another conversation begins
      return this.next(hooks);
    }
    // What lies between two requests of this engine (prompts being made, other engines' turns) is no time of the run.
    session.startAxis(this.#leftOffMs);
    const isWarmUp = this.#sent < session.workload.warmUpRequests;
    if (!isWarmUp) session.steadyFromMs ??= session.nowMs();
    if (this.#sent > 0) await this.#think();
    this.#sent += 1;
    const said = await session.send(prepared, isWarmUp ? 'warm-up' : 'steady');
    const goesOn = said !== undefined && turn + 1 < session.workload.turns;
    this.#conversation = goesOn ? { number, turn: turn + 1, spoken: said } : undefined;
    this.#leftOffMs = session.nowMs();
  }

  /** Whether any measured request was completed, so that a run that was cut short is worth keeping. */
  get hasMeasured(): boolean {
    return this.#session.recorder.steady.length > 0;
  }

  /** The run was cancelled: the measured part ends here, and {@link result} says so. What was under way is in no figure. */
  cut(): void {
    const { elapsedMs, underWay } = this.#session;
    this.#cutOff = underWay;
    if (this.#plannedEndMs !== undefined) this.#plannedEndMs = Math.min(this.#plannedEndMs, elapsedMs);
  }

  /** @param notes more that a reader has to know, of the page or the machine */
  result(notes: readonly Note[] = []): Run {
    const { recorder, workload, engine, mostUnderWay, steadyFromMs = 0 } = this.#session;
    const durationMs = this.#durationMs();
    const figures = computeFigures({
      samples: recorder.steady,
      coolDown: recorder.coolDown,
      failed: recorder.steadyFailures,
      fromMs: steadyFromMs,
      durationMs,
      slo: workload.slo,
    });
    const run = {
      conditions: conditionsOf(engine, workload, { mostUnderWay, flushed: this.#flushed }),
      durationMs,
      steadyFromMs,
      requests: { completed: recorder.steady.length, failed: recorder.steadyFailures },
      failures: recorder.failures.map(({ index, code, message }) => ({ index, code, message })),
      figures,
      samples: [...recorder.samples].sort((a, b) => a.calledMs - b.calledMs || a.index - b.index),
    };
    const { clamped } = this.#session.source;
    const seen = { clamped, pausedMs: this.#session.gate.totalMs, gaveUp: recorder.isHopeless, cutOff: this.#cutOff };
    return { ...run, notes: [...notes, ...notesOf(run, seen)] };
  }

  async #prepare(until: number): Promise<void> {
    const session = this.#session;
    await session.source.prepare(
      session.nextConversation,
      until,
      (done, of) =>
        session.hooks.onProgress?.({
          engine: session.engine.info.engine,
          stage: 'prepare',
          done,
          of,
          failed: 0,
          underWay: 0,
          elapsedMs: 0,
        }),
      session.hooks.signal,
    );
  }

  /** As many at once as there will be users, or one after another before an open loop. */
  async #warmUp(): Promise<void> {
    const session = this.#session;
    const { arrivals, warmUpRequests } = session.workload;
    const users = arrivals.process === 'closed-loop' ? arrivals.users : 1;
    const loop = async (): Promise<void> => {
      while (session.nextConversation < warmUpRequests && !session.recorder.isHopeless) {
        const prepared = await session.source.first(session.takeConversation());
        await session.send(prepared, 'warm-up');
      }
    };
    await Promise.all(Array.from({ length: users }, loop));
  }

  async #beginSteady(): Promise<void> {
    await this.#flush();
    this.#session.steadyFromMs = this.#session.nowMs();
  }

  async #flush(): Promise<void> {
    const { engine, workload } = this.#session;
    const { prefixCache } = engine;
    if (!prefixCache || workload.keepCache || workload.warmUpRequests === 0) return;
    await prefixCache.clear();
    this.#flushed = true;
  }

  async #think(): Promise<void> {
    const { workload, gate, timer, hooks } = this.#session;
    const { arrivals } = workload;
    const thinkTimeMs = arrivals.process === 'closed-loop' ? arrivals.thinkTimeMs : 0;
    await gate.sleepUntil(timer.now() + thinkTimeMs, gate.totalMs, hooks.signal);
  }

  /** Stage of a request that a user of a closed loop would send now; nothing once the run is over. */
  #closedStage(): () => Stage | undefined {
    const session = this.#session;
    const { recorder, workload } = session;
    const { stop, coolDownMs } = workload;
    let endedMs: number | undefined;
    return () => {
      const elapsedMs = session.elapsedMs;
      const isEnded =
        endedMs !== undefined ||
        session.steadySent >= (stop.requests ?? Infinity) ||
        elapsedMs >= (stop.durationMs ?? Infinity) ||
        recorder.isPreciseEnough(stop);
      if (recorder.isHopeless) return undefined;
      if (!isEnded) return 'steady';
      endedMs ??= Math.min(elapsedMs, stop.durationMs ?? Infinity);
      // Without a cool-down, what ends by count ends with its last answer, not when its last request was sent.
      if (coolDownMs > 0 || endedMs === stop.durationMs) this.#plannedEndMs = endedMs;
      return elapsedMs - endedMs < coolDownMs ? 'cool-down' : undefined;
    };
  }

  #isOver(plan: { endMs?: number }): boolean {
    const { recorder, workload, elapsedMs } = this.#session;
    const isPrecise = recorder.isPreciseEnough(workload.stop);
    if (isPrecise) this.#plannedEndMs = Math.min(elapsedMs, plan.endMs ?? Infinity);
    return isPrecise || recorder.isHopeless;
  }

  #durationMs(): number {
    const { steadyFromMs, steadyEndedMs, recorder } = this.#session;
    if (steadyFromMs === undefined) return 0;
    const untilLastMs = Math.max(0, steadyEndedMs - steadyFromMs);
    const plannedMs = this.#plannedEndMs ?? 0;
    return recorder.coolDown.length && plannedMs > 0 ? plannedMs : Math.max(plannedMs, untilLastMs);
  }
}

/** Runs the engines in turns (A B A B ...), so that a drift of the machine meets all of them alike. One user only. */
export async function runInTurns(runs: readonly EngineRun[], hooks: SessionHooks = {}): Promise<void> {
  while (runs.some((run) => !run.isDone)) for (const run of runs) if (!run.isDone) await run.next(hooks);
}
