import type { Engine } from '../request/engine.ts';
import { searchCapacity } from './capacity.ts';
import { EngineRun, runInTurns, type EngineRunOptions } from './engine-run.ts';
import { findKnee } from './knee.ts';
import { askedRate, type Arrivals } from './load/arrivals.ts';
import type { Progress, SessionHooks } from './load/session.ts';
import { checkWorkload, isOneUser, type Workload } from './load/workload.ts';
import type { CapacitySearch, Note, Run, Sweep } from './report.ts';

/** What to find out, beside one run of the workload. */
export interface Experiment {
  workload: Workload;
  /** The workload again and again, under growing load. */
  sweep?: { over: 'users' | 'rate'; values: readonly number[] } | undefined;
  /** The highest arrival rate that keeps the SLO of the workload, whose arrivals are those of an open loop. */
  search?: { neededShare: number; tolerance: number } | undefined;
}

/** Which of several runs is under way. */
export interface ExperimentProgress extends Progress {
  /** What the run is: `4 users`, `0.5 req/s`; absent where there is one only. */
  label?: string;
  /** Runs that ended. */
  runsDone: number;
  /** Absent where nobody knows. */
  runsOf?: number;
}

export interface ExperimentHooks extends EngineRunOptions {
  onProgress?: ((progress: ExperimentProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Once `signal` is aborted, resolve to what was measured so far, if anything was; a note in the run says so. @default false: reject */
  keepWhenCut?: boolean | undefined;
  /** Called before each run (of each engine, if they take no turns); what it returns is asked after the run for what happened meanwhile. */
  watch?: (() => () => readonly Note[] | Promise<readonly Note[]>) | undefined;
}

export interface ExperimentResult {
  runs: Run[];
  sweeps: Sweep[];
  searches: CapacitySearch[];
  inTurns: boolean;
}

const ONE_AFTER_ANOTHER: Note = {
  code: 'one-after-another',
  message:
    'The engines ran one after another, not in turns, as several requests were under way at once: a drift of the machine meets them differently.',
};

/**
 * Runs the experiment on engines that are loaded.
 * @throws RangeError in words for one that makes no sense; AbortError once the signal is aborted (but see `keepWhenCut`)
 */
export async function runExperiment(
  engines: readonly Engine[],
  experiment: Experiment,
  hooks: ExperimentHooks = {},
): Promise<ExperimentResult> {
  checkExperiment(experiment);
  const { workload, sweep, search } = experiment;
  const inTurns = !sweep && !search && isOneUser(workload);
  const lab = new Lab(hooks);
  const found: ExperimentResult = {
    runs: lab.runs,
    sweeps: [],
    searches: [],
    inTurns: inTurns || engines.length === 1,
  };
  try {
    if (inTurns && engines.length > 1) await lab.runInTurns(engines, workload);
    else await runOneByOne(lab, engines, experiment, found);
  } catch (error) {
    if (!hooks.keepWhenCut || !hooks.signal?.aborted || lab.runs.length === 0) throw error;
  }
  found.sweeps = found.sweeps.filter(({ points }) => points.length > 0);
  return found;
}

async function runOneByOne(
  lab: Lab,
  engines: readonly Engine[],
  { workload, sweep, search }: Experiment,
  { sweeps, searches }: ExperimentResult,
): Promise<void> {
  lab.notes = engines.length > 1 ? [ONE_AFTER_ANOTHER] : [];
  lab.runsOf = search ? undefined : engines.length * (sweep?.values.length ?? 1);
  for (const engine of engines) {
    if (search) searches.push(await findCapacity(lab, engine, workload, search));
    else if (sweep) await sweepLoad(lab, engine, workload, sweep, sweeps);
    else await lab.run(engine, workload);
  }
}

/** @throws RangeError in words */
export function checkExperiment({ workload, sweep, search }: Experiment): void {
  checkWorkload(workload);
  if (sweep && search) throw new RangeError('Cannot run: a sweep and a search at once; ask for one of them');
  if (search && askedRate(workload.arrivals) === undefined)
    throw new RangeError('Cannot search for a rate: the arrivals have none; take constant, poisson or gamma');
  if (sweep?.values.length === 0) throw new RangeError('Cannot sweep: there are no values');
  for (const value of sweep?.values ?? []) checkWorkload(withLoad(workload, sweep!.over, value));
}

/** The runs of an experiment as they come about. */
class Lab {
  readonly runs: Run[] = [];
  notes: readonly Note[] = [];
  runsOf: number | undefined = 1;
  readonly #hooks: ExperimentHooks;

  constructor(hooks: ExperimentHooks) {
    this.#hooks = hooks;
  }

  async run(engine: Engine, workload: Workload, label?: string): Promise<Run> {
    const unwatch = this.#hooks.watch?.();
    const running = new EngineRun(engine, workload, this.#hooks);
    try {
      await running.run(this.#sessionHooks(label));
    } catch (error) {
      this.#keepCut([running], (await unwatch?.()) ?? []);
      throw error;
    }
    const run = running.result([...this.notes, ...((await unwatch?.()) ?? [])]);
    this.runs.push(run);
    return run;
  }

  /** Of runs that were cancelled, those that have something to tell; one that failed otherwise leaves nothing. */
  #keepCut(running: readonly EngineRun[], notes: readonly Note[]): void {
    if (!this.#hooks.keepWhenCut || !this.#hooks.signal?.aborted) return;
    for (const run of running) run.cut();
    this.runs.push(...running.filter((run) => run.hasMeasured).map((run) => run.result([...this.notes, ...notes])));
  }

  async runInTurns(engines: readonly Engine[], workload: Workload): Promise<void> {
    const unwatch = this.#hooks.watch?.();
    const running = engines.map((engine) => new EngineRun(engine, workload, this.#hooks));
    let done = 0;
    const of = workload.stop.requests && (workload.stop.requests + workload.warmUpRequests) * engines.length;
    try {
      await runInTurns(running, {
        ...this.#hooks,
        onProgress: (progress) => {
          if (progress.sample) done += 1;
          this.#hooks.onProgress?.({ ...progress, done, ...(of && { of }), runsDone: 0, runsOf: 1 });
        },
      });
    } catch (error) {
      this.#keepCut(running, (await unwatch?.()) ?? []);
      throw error;
    }
    const notes = (await unwatch?.()) ?? [];
    this.runs.push(...running.map((run) => run.result(notes)));
  }

  #sessionHooks(label: string | undefined): SessionHooks {
    const { onProgress, signal } = this.#hooks;
    return {
      signal,
      onProgress:
        onProgress &&
        ((progress) =>
          onProgress({
            ...progress,
            ...(label !== undefined && { label }),
            runsDone: this.runs.length,
            ...(this.runsOf !== undefined && { runsOf: this.runsOf }),
          })),
    };
  }
}

async function sweepLoad(
  lab: Lab,
  engine: Engine,
  workload: Workload,
  { over, values }: NonNullable<Experiment['sweep']>,
  sweeps: Sweep[],
): Promise<void> {
  const points: { value: number; run: number }[] = [];
  const sweep: Sweep = { engine: engine.info.engine, over, points };
  sweeps.push(sweep); // before its end, so that the points of one that is cut short are kept
  for (const value of [...values].sort((a, b) => a - b)) {
    const run = lab.runs.length;
    await lab.run(engine, withLoad(workload, over, value), over === 'users' ? `${value} users` : `${value} req/s`);
    points.push({ value, run });
  }
  const knee = findKnee(
    points.map(({ value, run }) => {
      const { figures } = lab.runs[run]!;
      return { value, tokensPerSecond: figures.systemTokensPerSecond, latencyMs: figures.e2eMs?.p95 };
    }),
  );
  if (knee !== undefined) sweep.knee = knee;
}

/** Requests of the run that gives the first guess: one user, so that nothing waits. */
const GUESS_REQUESTS = 3;

async function findCapacity(
  lab: Lab,
  engine: Engine,
  workload: Workload,
  { neededShare, tolerance }: NonNullable<Experiment['search']>,
): Promise<CapacitySearch> {
  const alone = await lab.run(
    engine,
    {
      ...workload,
      arrivals: { process: 'closed-loop', users: 1, thinkTimeMs: 0 },
      stop: { requests: GUESS_REQUESTS },
      coolDownMs: 0,
    },
    'one user',
  );
  const e2eMs = alone.figures.e2eMs?.p50;
  if (!e2eMs) throw new RangeError('Cannot search: the requests of one user failed; see what they say in a plain run');
  const { probes, ratePerSecond, failedRatePerSecond } = await searchCapacity({
    guessPerSecond: 1000 / e2eMs,
    neededShare,
    tolerance,
    probe: async (rate) => {
      const place = lab.runs.length;
      const run = await lab.run(engine, withLoad(workload, 'rate', rate), `${rate.toPrecision(3)} req/s`);
      return { share: run.figures.goodput.share, run: place };
    },
  });
  return {
    engine: engine.info.engine,
    slo: workload.slo,
    neededShare,
    tolerance,
    ...(ratePerSecond !== undefined && { ratePerSecond }),
    ...(failedRatePerSecond !== undefined && { failedRatePerSecond }),
    probes: probes.map(({ ratePerSecond: rate, kept, result }) => ({ ratePerSecond: rate, kept, ...result })),
  };
}

/** The workload under another load of the same kind. */
function withLoad(workload: Workload, over: 'users' | 'rate', value: number): Workload {
  return { ...workload, arrivals: loaded(workload.arrivals, over, value) };
}

function loaded(arrivals: Arrivals, over: 'users' | 'rate', value: number): Arrivals {
  if (over === 'users')
    return {
      process: 'closed-loop',
      users: value,
      thinkTimeMs: arrivals.process === 'closed-loop' ? arrivals.thinkTimeMs : 0,
    };
  switch (arrivals.process) {
    case 'constant':
    case 'gamma':
      return { ...arrivals, ratePerSecond: value };
    default:
      return { process: 'poisson', ratePerSecond: value };
  }
}
