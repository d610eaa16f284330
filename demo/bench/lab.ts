import { PauseGate } from '../../src/runtime/bench/load/pause-gate.ts';
import { systemTimer } from '../../src/runtime/bench/load/timer.ts';
import type { ExperimentProgress } from '../../src/runtime/bench/bench.ts';
import type { Report } from '../../src/runtime/bench/report.ts';
import type { Sample } from '../../src/runtime/bench/sample.ts';
import { readSetup, type ReadSetup } from '../../src/runtime/bench/setup/read-setup.ts';
import { toSetup, type Setup, type SetupName } from '../../src/runtime/bench/setup/setup.ts';
import type { LoadProgress } from '../../src/index.ts';
import type { ChartedRun } from './charts.ts';
import { runBench } from './run-bench.ts';

/** What the page shows; changes are told to one listener. */
export interface LabState {
  setup: Setup;
  phase: 'idle' | 'running';
  /** What is being done or has gone wrong, in words. */
  status: string;
  failed: boolean;
  load?: LoadProgress | undefined;
  progress?: ExperimentProgress | undefined;
  progressAtMs: number;
  paused: boolean;
  /** What is shown; absent before the first. */
  report?: Report | undefined;
}

/** A run under way: everything that starting, pausing and cancelling it takes. */
interface Running {
  controller: AbortController;
  gate: PauseGate;
  /** Samples so far, by engine and load. */
  live: Map<string, { name: string; samples: Sample[]; fromMs: number; slo: ReadSetup['workload']['slo'] }>;
}

/** The benchmark of a page without its looks. */
export class Lab {
  readonly state: LabState;
  readonly #onChange: (live: readonly ChartedRun[] | undefined) => void;
  readonly #files: Record<string, string> = {};
  #running: Running | undefined;

  /** @param onChange called after each change; with what was measured so far while a run goes on */
  constructor(address: string, onChange: (live: readonly ChartedRun[] | undefined) => void) {
    this.#onChange = onChange;
    this.state = { setup: {}, phase: 'idle', status: '', failed: false, progressAtMs: 0, paused: false };
    try {
      this.state.setup = toSetup(new URL(address).searchParams);
      if (this.state.setup.workload !== undefined) readSetup({ workload: this.state.setup.workload });
    } catch (error) {
      this.state.setup = {};
      this.#fail(error);
    }
  }

  /** The address that sets the page up as it is; a trace has to be chosen again. */
  get address(): string {
    const url = new URL(location.href);
    url.search = new URLSearchParams(Object.entries(this.state.setup)).toString();
    url.hash = '';
    return url.href;
  }

  change(changes: Partial<Record<SetupName, string | undefined>>): void {
    const entries = Object.entries({ ...this.state.setup, ...changes });
    this.state.setup = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    history.replaceState(null, '', this.address);
    this.#tell();
  }

  async chooseFile(name: 'trace', file: File): Promise<void> {
    this.#files[file.name] = await file.text();
    this.change({ [name]: file.name });
  }

  /** Runs what is set up; resolves to the report, or to nothing if there is none (the status says why). */
  async run(): Promise<Report | undefined> {
    const { state } = this;
    let asked: ReadSetup;
    try {
      asked = readSetup(state.setup, this.#files);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
    const running: Running = { controller: new AbortController(), gate: new PauseGate(systemTimer), live: new Map() };
    this.#running = running;
    Object.assign(state, { phase: 'running', paused: false, failed: false, progress: undefined, load: undefined });
    state.status = 'Loading the engine';
    this.#tell();
    try {
      state.report = await runBench(
        { ...asked, command: this.address },
        {
          signal: running.controller.signal,
          keepWhenCut: true,
          gate: running.gate,
          onLoad: (load) => {
            state.load = load;
            this.#tell();
          },
          onProgress: (progress) => this.#onProgress(running, progress, asked.workload.slo),
        },
      );
      state.status = running.controller.signal.aborted ? 'Cancelled; what was measured until then is kept' : 'Done';
      return state.report;
    } catch (error) {
      if (running.controller.signal.aborted) state.status = 'Cancelled before anything was measured';
      else this.#fail(error);
      return undefined;
    } finally {
      this.#running = undefined;
      Object.assign(state, { phase: 'idle', paused: false, progress: undefined, load: undefined });
      this.#tell();
    }
  }

  togglePause(): void {
    const gate = this.#running?.gate;
    if (!gate) return;
    if (gate.isPaused) gate.resume();
    else gate.pause();
    this.state.paused = gate.isPaused;
    this.#tell();
  }

  cancel(): void {
    this.#running?.controller.abort();
  }

  show(report: Report): void {
    this.state.report = report;
    this.state.failed = false;
    this.state.status = `Report of ${new Date(report.createdAt).toLocaleString()}`;
    this.#tell();
  }

  fail(error: unknown): void {
    this.#fail(error);
    this.#tell();
  }

  #fail(error: unknown): void {
    this.state.failed = true;
    this.state.status = error instanceof Error ? error.message : String(error);
  }

  #onProgress({ live }: Running, progress: ExperimentProgress, slo: ReadSetup['workload']['slo']): void {
    const { state } = this;
    const { engine, label, sample } = progress;
    state.load = undefined;
    state.progress = progress;
    state.progressAtMs = performance.now();
    if (sample && !sample.warmUp && !sample.coolDown) {
      const name = label ? `${engine}, ${label}` : engine;
      const shown = live.get(name) ?? { name, samples: [], fromMs: sample.calledMs, slo };
      shown.samples.push(sample);
      live.set(name, shown);
    }
    this.#tell();
  }

  /** The newest runs: more than a few clouds of points cannot be told apart. */
  #tell(): void {
    this.#onChange(this.#running && [...this.#running.live.values()].slice(-4));
  }
}

/** How far a run is, for people. */
export function progressWords({ progress, progressAtMs, load, paused, status }: LabState): {
  text: string;
  share?: number;
} {
  if (load && load.phase !== 'ready')
    return {
      text: load.label || 'Loading the engine',
      ...(load.totalBytes && { share: load.loadedBytes / load.totalBytes }),
    };
  if (!progress) return { text: status };
  const { stage, engine, label, done, of, failed, elapsedMs, leftMs, p95HalfWidth, runsDone, runsOf } = progress;
  const sinceMs = paused ? 0 : performance.now() - progressAtMs;
  const left = leftMs === undefined ? undefined : Math.max(0, leftMs - sinceMs);
  const stages = { prepare: 'making prompts', drain: 'waiting for the last answers', steady: 'measuring' } as const;
  const parts = [
    [engine, label].filter(Boolean).join(', '),
    paused ? 'paused' : stage in stages ? stages[stage as keyof typeof stages] : stage,
    of === undefined ? `${done} requests` : `${done} of ${of}`,
    failed ? `${failed} failed` : '',
    left === undefined ? '' : `${Math.ceil(left / 1000)} s left`,
    p95HalfWidth === undefined ? '' : `TTFT p95 ± ${Math.round(p95HalfWidth * 100)} %`,
    runsOf === 1 ? '' : `run ${runsDone + 1}${runsOf ? ` of ${runsOf}` : ''}`,
  ];
  const share = of
    ? done / of
    : left === undefined
      ? undefined
      : (elapsedMs + sinceMs) / (elapsedMs + sinceMs + left || 1);
  return { text: parts.filter(Boolean).join(' · '), ...(share !== undefined && { share: Math.min(1, share) }) };
}
