import { expect } from 'chai';
import { runExperiment, type ExperimentProgress } from './bench.ts';
import { findKnee } from './knee.ts';
import { makeReport } from './make-report.ts';
import { reportProblems } from './load-report.ts';
import { reportTable } from './table.ts';
import { SimulatedEngine } from './testing/simulated-engine.ts';
import { simulatedWorkload } from './testing/simulated-run.ts';
import { VirtualTimer } from './testing/virtual-timer.ts';

describe('runExperiment', () => {
  let timer: VirtualTimer;
  beforeEach(() => (timer = new VirtualTimer()));
  afterEach(() => timer.close());
  const engines = (...factors: number[]): SimulatedEngine[] =>
    factors.map(
      (factor, index) =>
        new SimulatedEngine(
          timer,
          { firstTokenMs: 400 * factor, tokenMs: 100 * factor },
          { engine: `engine-${index}` },
        ),
    );

  it('runExperiment: engines with one user take turns, and the turns of the others are no time of a run', async () => {
    const { runs, inTurns } = await runExperiment(
      engines(1, 2),
      { workload: simulatedWorkload({ stop: { requests: 4 }, warmUpRequests: 1 }) },
      { timer },
    );
    expect(inTurns).to.equal(true);
    expect(runs.map(({ durationMs }) => durationMs)).to.deep.equal([4000, 8000]);
    expect(runs[0]!.samples.map(({ calledMs }) => calledMs)).to.deep.equal([0, 1000, 2000, 3000, 4000]);
    const report = await makeReport(runs, { version: '0', inTurns });
    expect(report.ratios!.find(({ figure }) => figure === 'ttftMs')).to.deep.include({ median: 2, n: 4 });
  });

  it('runExperiment: several requests at once: one engine after another, told in a note, without ratios by pairs', async () => {
    const arrivals = { process: 'closed-loop', users: 3, thinkTimeMs: 0 } as const;
    const { runs, inTurns } = await runExperiment(
      engines(1, 2),
      { workload: simulatedWorkload({ arrivals }) },
      { timer },
    );
    expect(runs).to.have.lengthOf(2);
    expect(runs[1]!.notes.map(({ code }) => code)).to.include('one-after-another');
    expect(await makeReport(runs, { version: '0', inTurns })).not.to.have.property('ratios');
  });

  it('runExperiment: one that is cancelled keeps what was measured, where that is asked for, and says so', async () => {
    const controller = new AbortController();
    const { runs } = await runExperiment(
      engines(1, 2),
      { workload: simulatedWorkload({ stop: { requests: 40 } }) },
      {
        timer,
        signal: controller.signal,
        keepWhenCut: true,
        onProgress: ({ done }) => done === 7 && controller.abort(),
      },
    );
    expect(runs.map(({ requests }) => requests.completed)).to.deep.equal([4, 3]);
    for (const { notes } of runs) expect(notes.map(({ code }) => code)).to.include('cut-short');
    expect(reportProblems(await makeReport(runs, { version: '0' }))).to.deep.equal([]);
  });

  it('runExperiment: a load that is cut short ends its window there, and a sweep keeps the points before', async () => {
    const controller = new AbortController();
    const found = await runExperiment(
      engines(1),
      {
        workload: simulatedWorkload({
          arrivals: { process: 'constant', ratePerSecond: 0.5 },
          stop: { durationMs: 60_000 },
        }),
        sweep: { over: 'rate', values: [0.5, 0.8] },
      },
      {
        timer,
        signal: controller.signal,
        keepWhenCut: true,
        onProgress: ({ runsDone, elapsedMs }) => runsDone === 1 && elapsedMs > 20_000 && controller.abort(),
      },
    );
    expect(found.sweeps[0]!.points).to.deep.equal([{ value: 0.5, run: 0 }]);
    const [whole, cut] = found.runs;
    expect(whole!.notes.map(({ code }) => code)).not.to.include('cut-short');
    expect(cut!.durationMs).to.be.within(20_000, 22_500);
    expect(cut!.requests.completed).to.be.within(15, 17);
  });

  it('runExperiment: cancelled before anything was measured, or without being asked to keep, it rejects', async () => {
    const early = AbortSignal.abort();
    const workload = simulatedWorkload({ stop: { requests: 9 } });
    const rejected = async (hooks: { signal: AbortSignal; keepWhenCut?: boolean; onProgress?: () => void }) =>
      runExperiment(engines(1), { workload }, { timer, ...hooks }).then(
        () => 'kept',
        (error: unknown) => (error as Error).name,
      );
    expect(await rejected({ signal: early, keepWhenCut: true })).to.equal('AbortError');
    const late = new AbortController();
    const hooks = { signal: late.signal, onProgress: () => late.abort() };
    expect(await rejected(hooks)).to.equal('AbortError');
  });

  it('runExperiment: a sweep over users finds the knee of the curve, and reports how far it is', async () => {
    const progress: ExperimentProgress[] = [];
    const { runs, sweeps } = await runExperiment(
      engines(1),
      { workload: simulatedWorkload({ stop: { requests: 8 } }), sweep: { over: 'users', values: [4, 1, 2] } },
      { timer, onProgress: (step) => progress.push(step) },
    );
    expect(sweeps[0]!.points).to.deep.equal([
      { value: 1, run: 0 },
      { value: 2, run: 1 },
      { value: 4, run: 2 },
    ]);
    expect(sweeps[0]!.knee).to.equal(1); // one server: more users only wait
    expect(runs[2]!.conditions.concurrency).to.equal(4);
    expect(progress.at(-1)).to.deep.include({ runsDone: 2, runsOf: 3, label: '4 users' });
    const report = await makeReport(runs, { version: '0', sweeps });
    expect(reportProblems(report)).to.deep.equal([]);
    expect(reportTable(report)).to.include('1 (knee)').and.to.include('most throughput per latency is at 1 user ');
    expect(reportTable(report).match(/few|hardly more/g)).to.have.lengthOf(1); // a note of three runs is said once
  });

  it('runExperiment: a search finds the capacity of an engine, and its report holds every probe', async () => {
    const { runs, searches } = await runExperiment(
      engines(0.5),
      {
        workload: simulatedWorkload({
          arrivals: { process: 'constant', ratePerSecond: 1 },
          stop: { requests: 200 },
          slo: { name: 'test', ttftMs: 600 },
        }),
        search: { neededShare: 0.95, tolerance: 0.02 },
      },
      { timer },
    );
    expect(searches[0]!.ratePerSecond).to.be.closeTo(2, 0.06);
    expect(searches[0]!.probes.map(({ run }) => run)).to.deep.equal(runs.slice(1).map((_, index) => index + 1));
    const report = await makeReport(runs, { version: '0', searches });
    expect(report.figures['capacityRequestsPerSecond']).to.equal(searches[0]!.ratePerSecond);
    expect(reportProblems(JSON.parse(JSON.stringify(report)))).to.deep.equal([]);
  });

  it('runExperiment: asks the watcher before and after each run, also one that fails', async () => {
    const seen: string[] = [];
    const watch = () => {
      seen.push('begin');
      return () => {
        seen.push('end');
        return [{ code: 'noisy-machine', message: 'Loud.' } as const];
      };
    };
    const { runs } = await runExperiment(engines(1), { workload: simulatedWorkload() }, { timer, watch });
    expect(runs[0]!.notes).to.deep.equal([{ code: 'noisy-machine', message: 'Loud.' }]);
    const signal = AbortSignal.abort();
    await runExperiment(engines(1), { workload: simulatedWorkload() }, { timer, watch, signal }).catch(() => undefined);
    expect(seen).to.deep.equal(['begin', 'end', 'begin', 'end']);
  });

  it('runExperiment: refuses what makes no sense, in words', async () => {
    for (const [experiment, said] of [
      [{ workload: simulatedWorkload(), search: { neededShare: 0.95, tolerance: 0.03 } }, /arrivals have none/],
      [{ workload: simulatedWorkload({ stop: {} }) }, /when to stop/],
      [{ workload: simulatedWorkload({ arrivals: { process: 'poisson', ratePerSecond: 0 } }) }, /rate is 0/],
      [{ workload: simulatedWorkload({ slo: { name: 'none' } }) }, /at least one limit/],
    ] as const) {
      let error: unknown;
      await runExperiment(engines(1), experiment, { timer }).catch((caught: unknown) => (error = caught));
      expect(error).to.be.instanceOf(RangeError);
      expect((error as Error).message).to.match(said);
    }
  });
});

describe('findKnee', () => {
  it('findKnee: is where throughput per latency is greatest', () => {
    // M/M/1 of service rate 10: throughput x, latency 1000 / (10 - x); x (10 - x) is greatest at 5.
    const points = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((value) => ({
      value,
      tokensPerSecond: value,
      latencyMs: 1000 / (10 - value),
    }));
    expect(findKnee(points)).to.equal(5);
    expect(findKnee(points.slice(0, 2))).to.equal(undefined);
  });
});
