import type { TokenEvent } from '../../shared/generation.ts';
import type { EngineInfo, LoadProgress } from '../../shared/info.ts';
import type { Engine } from '../request/engine.ts';
import { EngineRun } from './engine-run.ts';
import { systemTimer, type Timer } from './load/timer.ts';
import type { Workload } from './load/workload.ts';
import type { Note, Run } from './report.ts';
import type { Sample } from './sample.ts';
import { watchedEngine } from './watched-engine.ts';

/** One who takes part in a race: an engine, or one with other settings. */
export interface Contestant {
  /** Like no other in the race: the name of its run. */
  name: string;
  load: (hooks: { onProgress: (progress: LoadProgress) => void; signal: AbortSignal }) => Promise<Engine>;
}

/**
 * `turns`: all are loaded, then A B A B ..., so that a drift of the device meets all alike. `apart`: each runs all its rounds and is disposed of before
 * the next is loaded, so that there is one model in memory at a time. `at-once`: all answer at the same time and share the device.
 */
export type RaceOrder = 'turns' | 'apart' | 'at-once';

export type RaceEvent =
  | { type: 'load'; progress: LoadProgress }
  | { type: 'loaded'; info: EngineInfo; loadMs: number }
  /** A request begins; rounds count from 0, warm-up included. */
  | { type: 'round'; round: number; warmUp: boolean; atMs: number }
  | { type: 'event'; event: TokenEvent }
  | { type: 'measured'; sample: Sample }
  /** It takes no further part; the race goes on. */
  | { type: 'failed'; error: unknown }
  /** All its rounds are run. */
  | { type: 'done' };

export interface RaceOptions {
  /** Of one user; `stop.requests` are the rounds. */
  workload: Workload;
  order: RaceOrder;
  signal: AbortSignal;
  onEvent: (contestant: number, event: RaceEvent) => void;
  /** @default the system's */
  timer?: Timer;
}

/** What came of a contestant. */
export interface RaceEntry {
  name: string;
  /** Absent if nothing was measured. */
  run?: Run;
  /** Why it took no further part; absent if it came to its end. */
  error?: unknown;
  /** From the call to the engine that is ready. */
  loadMs?: number;
}

const NOTES: Readonly<Record<RaceOrder, readonly Note[]>> = {
  turns: [],
  apart: [
    {
      code: 'one-after-another',
      message: 'The contestants ran one after another, not in turns: a drift of the machine meets them differently.',
    },
  ],
  'at-once': [
    {
      code: 'at-once',
      message: 'The contestants answered at the same time and shared the device: each is slower than it is alone.',
    },
  ],
};

/**
 * Runs a workload on several engines. One that cannot be loaded or fails takes no further part, and the race goes on; everything that was loaded is
 * disposed of at the end. Cancelled, it resolves to what was measured so far.
 * @throws RangeError for a workload that cannot be run
 */
export async function runRace(contestants: readonly Contestant[], options: RaceOptions): Promise<RaceEntry[]> {
  const lanes = contestants.map((contestant, index) => new Lane(contestant, index, options));
  try {
    if (options.order === 'apart') {
      for (const lane of lanes) {
        await lane.load();
        while (lane.isUnderWay) await lane.next();
        await lane.dispose();
      }
    } else {
      for (const lane of lanes) await lane.load();
      while (lanes.some((lane) => lane.isUnderWay)) {
        const under = lanes.filter((lane) => lane.isUnderWay);
        if (options.order === 'at-once') await Promise.all(under.map((lane) => lane.next()));
        else for (const lane of under) await lane.next();
      }
    }
  } finally {
    await Promise.all(lanes.map((lane) => lane.dispose()));
  }
  return lanes.map((lane) => lane.entry());
}

class Lane {
  readonly #contestant: Contestant;
  readonly #options: RaceOptions;
  readonly #tell: (event: RaceEvent) => void;
  readonly #timer: Timer;
  #engine: Engine | undefined;
  #run: EngineRun | undefined;
  #rounds = 0;
  #measured = 0;
  #failure: { error: unknown } | undefined;
  #loadMs: number | undefined;

  constructor(contestant: Contestant, index: number, options: RaceOptions) {
    this.#contestant = contestant;
    this.#options = options;
    this.#timer = options.timer ?? systemTimer;
    this.#tell = (event) => options.onEvent(index, event);
  }

  get isUnderWay(): boolean {
    return this.#run !== undefined && !this.#failure && !this.#run.isDone && !this.#options.signal.aborted;
  }

  async load(): Promise<void> {
    const { signal, workload } = this.#options;
    if (signal.aborted) return;
    const startedMs = this.#timer.now();
    try {
      const engine = await this.#contestant.load({
        onProgress: (progress) => this.#tell({ type: 'load', progress }),
        signal,
      });
      this.#engine = engine;
      this.#loadMs = this.#timer.now() - startedMs;
      const watched = watchedEngine(engine, this.#contestant.name, {
        onEvent: (event) => this.#tell({ type: 'event', event }),
        onError: (error) => (this.#failure = { error }),
      });
      this.#run = new EngineRun(watched, workload, { timer: this.#timer });
      this.#tell({ type: 'loaded', info: watched.info, loadMs: this.#loadMs });
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A round. */
  async next(): Promise<void> {
    const { signal, workload } = this.#options;
    const round = this.#rounds++;
    this.#tell({ type: 'round', round, warmUp: round < workload.warmUpRequests, atMs: this.#timer.now() });
    try {
      await this.#run!.next({
        signal,
        onProgress: ({ sample }) => {
          if (!sample) return;
          if (!sample.warmUp) this.#measured += 1;
          this.#tell({ type: 'measured', sample });
        },
      });
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#failure) this.#fail(this.#failure.error);
    else if (this.#run!.isDone) this.#tell({ type: 'done' });
  }

  async dispose(): Promise<void> {
    const engine = this.#engine;
    this.#engine = undefined;
    // One that cannot even end has been told of already, or has nothing to tell.
    await engine?.[Symbol.asyncDispose]().catch(() => undefined);
  }

  entry(): RaceEntry {
    return {
      name: this.#contestant.name,
      ...(this.#run && this.#measured > 0 && { run: this.#run.result(NOTES[this.#options.order]) }),
      ...(this.#failure && { error: this.#failure.error }),
      ...(this.#loadMs !== undefined && { loadMs: this.#loadMs }),
    };
  }

  #fail(error: unknown): void {
    if (this.#options.signal.aborted) return; // cancelled, not failed
    this.#failure = { error };
    this.#tell({ type: 'failed', error });
  }
}
