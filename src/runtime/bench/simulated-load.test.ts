import { expect } from 'chai';
import { searchCapacity } from './capacity.ts';
import { computeFigures } from './figures.ts';
import type { Run } from './report.ts';
import type { Sample } from './sample.ts';
import { simulateRun } from './testing/simulated-run.ts';

const steady = ({ samples }: Run): Sample[] => samples.filter(({ warmUp, coolDown }) => !warmUp && !coolDown);
const pick = <Key extends keyof Sample>(run: Run, key: Key): Sample[Key][] => steady(run).map((sample) => sample[key]);
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('EngineRun, open loop', () => {
  it('EngineRun: arrivals each 0.5 s against 1 s of service: latency counts from the plan and grows by 0.5 s each', async () => {
    const { run } = await simulateRun({ arrivals: { process: 'constant', ratePerSecond: 2 } });
    expect(pick(run, 'ttftMs')).to.deep.equal(range(20).map((index) => 400 + 500 * index));
    expect(pick(run, 'e2eMs')).to.deep.equal(range(20).map((index) => 1000 + 500 * index));
    expect(steady(run).map(({ ttftParts }) => ttftParts?.queueMs)).to.deep.equal(range(20).map((index) => 500 * index));
    expect(pick(run, 'calledMs')).to.deep.equal(range(20).map((index) => 500 * index));
    expect(new Set(pick(run, 'itlMs').flat())).to.deep.equal(new Set([100]));
    expect(new Set(pick(run, 'dispatchDelayMs'))).to.deep.equal(new Set([0]));
  });

  it('EngineRun: the figures of that run are exact', async () => {
    const { run } = await simulateRun({ arrivals: { process: 'constant', ratePerSecond: 2 } });
    expect(run.durationMs).to.equal(20_000);
    const { figures } = run;
    expect(figures.ttftMs).to.deep.equal({ n: 20, p50: 5150, p95: 9425, p99: 9805, max: 9900 });
    expect(figures.itlMs).to.deep.equal({ n: 120, p50: 100, p95: 100, p99: 100, max: 100 });
    expect(figures.queueMs).to.deep.include({ n: 20, p50: 4750, max: 9500 });
    expect(figures.systemTokensPerSecond).to.equal(7);
    expect(figures.peakSystemTokensPerSecond).to.equal(7);
    expect(figures.userTokensPerSecond).to.deep.include({ n: 20, p50: 10 });
    // TTFT of the first five is at most 2400 ms.
    expect(figures.goodput).to.deep.equal({
      requestsPerSecond: 0.25,
      tokensPerSecond: 1.75,
      share: 0.25,
      shares: { ttftMs: 0.25 },
    });
    expect(run.conditions.concurrency).to.equal(11); // at 9.5 s nine are done: 20 - 9
  });

  it('EngineRun: below capacity nothing waits, and the window is the plan', async () => {
    const { run } = await simulateRun({
      arrivals: { process: 'constant', ratePerSecond: 0.5 },
      stop: { durationMs: 20_000 },
    });
    expect(pick(run, 'ttftMs')).to.deep.equal(Array(10).fill(400));
    expect(run.durationMs).to.equal(20_000);
    expect(run.figures.goodput).to.deep.include({ requestsPerSecond: 0.5, share: 1 });
  });

  it('EngineRun: a cool-down keeps the load up, and is left out but for the tokens of the machine', async () => {
    const { run } = await simulateRun({
      arrivals: { process: 'constant', ratePerSecond: 2 },
      stop: { durationMs: 10_000 },
      coolDownMs: 5000,
    });
    expect(run.samples.filter(({ coolDown }) => coolDown)).to.have.lengthOf(10);
    expect(run.figures.ttftMs.n).to.equal(20);
    expect(run.durationMs).to.equal(10_000);
    expect(run.figures.systemTokensPerSecond).to.equal(7);
  });

  it('EngineRun: replays a trace with its arrivals and lengths', async () => {
    const trace = [
      { arrivalMs: 0, promptTokens: 10, outputTokens: 2 },
      { arrivalMs: 300, promptTokens: 30, outputTokens: 1 },
      { arrivalMs: 9000, promptTokens: 12, outputTokens: 3 },
    ];
    const { run } = await simulateRun({
      trace,
      arrivals: { process: 'trace', name: 'x', requests: 3, speed: 2 },
      stop: {},
      warmUpRequests: 2,
    });
    const fromMs = run.steadyFromMs;
    expect(
      steady(run).map((sample) => [sample.calledMs - fromMs, sample.promptTokens, sample.outputTokens, sample.ttftMs]),
    ).to.deep.equal([
      [0, 10, 2, 400],
      [150, 30, 1, 750], // waits for the first, which ends at 500
      [4500, 12, 3, 400],
    ]);
  });

  it('EngineRun: a pause moves what is planned, and counts for nothing', async () => {
    const { run } = await simulateRun(
      { arrivals: { process: 'constant', ratePerSecond: 0.5 }, stop: { requests: 4 } },
      undefined,
      {
        onReady: (timer, gate) => {
          void timer.sleepUntil(timer.now() + 3000).then(() => {
            gate.pause();
            return timer.sleepUntil(timer.now() + 50_000).then(() => gate.resume());
          });
        },
      },
    );
    expect(pick(run, 'calledMs')).to.deep.equal([0, 2000, 4000, 6000]);
    expect(pick(run, 'ttftMs')).to.deep.equal([400, 400, 400, 400]);
    expect(run.durationMs).to.equal(8000);
    expect(run.notes.map(({ code }) => code)).to.include('paused');
  });
});

describe('EngineRun, closed loop', () => {
  it('EngineRun: four users wait for each other, three at most', async () => {
    const { run } = await simulateRun({ arrivals: { process: 'closed-loop', users: 4, thinkTimeMs: 0 } });
    expect(pick(run, 'ttftMs')).to.deep.equal([400, 1400, 2400, ...Array<number>(17).fill(3400)]);
    expect(run.durationMs).to.equal(20_000);
    expect(run.requests).to.deep.equal({ completed: 20, failed: 0 });
    expect(run.conditions.concurrency).to.equal(4);
    expect(steady(run)[0]).not.to.have.property('dispatchDelayMs');
  });

  it('EngineRun: think time is part of the run, and stops by time', async () => {
    const { run } = await simulateRun({
      arrivals: { process: 'closed-loop', users: 1, thinkTimeMs: 500 },
      stop: { durationMs: 9000 },
    });
    // 1 s of service, then 0.5 s of thinking: answers at 1, 2.5, 4, 5.5, 7, 8.5 and 10 s.
    expect(run.requests.completed).to.equal(7);
    expect(run.durationMs).to.equal(10_000);
  });

  it('EngineRun: warm-up is run, marked and left out, with the same users', async () => {
    const { run } = await simulateRun({
      arrivals: { process: 'closed-loop', users: 2, thinkTimeMs: 0 },
      stop: { requests: 4 },
      warmUpRequests: 3,
    });
    expect(run.samples.map(({ warmUp }) => warmUp)).to.deep.equal([true, true, true, false, false, false, false]);
    expect(run.steadyFromMs).to.equal(3000);
    expect(run.durationMs).to.equal(4000);
    expect(run.figures.ttftMs.n).to.equal(4);
  });

  it('EngineRun: turns of a conversation send what was said before, and its answer', async () => {
    const { run } = await simulateRun({
      turns: 3,
      promptLength: { kind: 'fixed', tokens: 10 },
      stop: { requests: 6 },
      raw: false,
    });
    // Each turn adds 10 tokens; the answer has 7.
    expect(pick(run, 'promptTokens')).to.deep.equal([10, 27, 44, 10, 27, 44]);
    expect(pick(run, 'turn')).to.deep.equal([0, 1, 2, 0, 1, 2]);
    expect(pick(run, 'conversation')).to.deep.equal([0, 0, 0, 1, 1, 1]);
  });

  it('EngineRun: stops once p95 is known well enough, and not before', async () => {
    const { run } = await simulateRun(
      { stop: { p95Within: 0.2 } },
      { firstTokenMs: ({ sampling }) => 300 + (sampling!.seed! % 7), tokenMs: 1 },
    );
    expect(run.requests.completed).to.equal(72); // the fewest that give an interval
  });

  it('EngineRun: a failure is recorded and counts against the SLO; a dead device ends the run', async () => {
    const { run } = await simulateRun({ stop: { requests: 4 } }, { firstTokenMs: 400, tokenMs: 100, failAt: 1 });
    expect(run.requests).to.deep.equal({ completed: 3, failed: 1 });
    expect(run.failures).to.deep.equal([
      { index: 1, code: 'numeric-fault', message: 'Cannot decode: a fault; try again' },
    ]);
    expect(run.figures.goodput.share).to.equal(0.75);
    const dead = await simulateRun(
      { stop: { durationMs: 60_000 } },
      { firstTokenMs: 400, tokenMs: 100, failAt: 'all' },
    );
    expect(dead.run.requests).to.deep.equal({ completed: 0, failed: 10 });
    expect(dead.run.notes.map(({ code }) => code)).to.include('gave-up');
  });

  it('EngineRun: cancelling throws AbortError and leaves nobody waiting', async () => {
    for (const arrivals of [
      { process: 'constant', ratePerSecond: 2 },
      { process: 'closed-loop', users: 3, thinkTimeMs: 100 },
    ] as const) {
      const controller = new AbortController();
      let pending: (() => number) | undefined;
      let error: unknown;
      await simulateRun({ arrivals }, undefined, {
        signal: controller.signal,
        onReady: (timer) => {
          pending = () => timer.pending;
          void timer.sleepUntil(timer.now() + 3100).then(() => controller.abort());
        },
      }).catch((caught: unknown) => (error = caught));
      expect((error as DOMException).name).to.equal('AbortError');
      await new Promise((resolve) => setTimeout(resolve));
      expect(pending!()).to.equal(0);
    }
  });

  it('EngineRun: 200 runs leave no listener, sleeper or request behind', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    const known = new Set<unknown>();
    signal.addEventListener = ((type: string, listener: EventListener) => {
      known.add(listener);
      listeners = known.size;
      add(type, listener);
    }) as typeof signal.addEventListener;
    signal.removeEventListener = ((type: string, listener: EventListener) => {
      known.delete(listener);
      listeners = known.size;
      remove(type, listener);
    }) as typeof signal.removeEventListener;
    for (let index = 0; index < 200; index++) {
      const { timer, engine, run } = await simulateRun(
        {
          arrivals:
            index % 2
              ? { process: 'poisson', ratePerSecond: 1.2 }
              : { process: 'closed-loop', users: 2, thinkTimeMs: 50 },
          stop: { durationMs: 5000 },
          seed: index,
        },
        undefined,
        { signal },
      );
      expect([timer.pending, engine.listeners, listeners, run.requests.failed]).to.deep.equal([0, 0, 0, 0]);
      expect(engine.requests).to.equal(run.samples.length);
    }
  });
});

describe('searchCapacity', () => {
  it('searchCapacity: finds the capacity of one request per second within 3 %', async () => {
    // 1 s of service each: beyond 1 req/s the queue grows without end, below it nothing waits.
    const slo = { name: 'test', ttftMs: 1400 };
    const found = await searchCapacity({
      guessPerSecond: 0.37,
      tolerance: 0.02,
      probe: async (ratePerSecond) => {
        const { run } = await simulateRun({
          arrivals: { process: 'constant', ratePerSecond },
          stop: { requests: 300 },
          slo,
        });
        return { share: run.figures.goodput.share };
      },
    });
    expect(found.ratePerSecond).to.be.closeTo(1, 0.03);
    expect(found.failedRatePerSecond! - found.ratePerSecond!).to.be.at.most(0.02 * found.failedRatePerSecond!);
    expect(found.probes.length).to.be.below(12);
  });

  it('searchCapacity: the limit of an SLO under Poisson arrivals is that of the M/D/1 queue', async () => {
    // P(wait <= t) of M/D/1 (Erlang 1909; Crommelin 1932): (1 - rho) sum_j (-rho (t - j))^j / j! e^(rho (t - j)), service time 1.
    const waitBelow = (rho: number, t: number): number => {
      let sum = 0;
      let factorial = 1;
      for (let j = 0; j <= Math.floor(t); j++) {
        if (j > 0) factorial *= j;
        sum += ((-rho * (t - j)) ** j / factorial) * Math.exp(rho * (t - j));
      }
      return (1 - rho) * sum;
    };
    let [low, high] = [0.1, 0.99];
    for (let step = 0; step < 50; step++) {
      const middle = (low + high) / 2;
      if (waitBelow(middle, 3) >= 0.95) low = middle;
      else high = middle;
    }
    // Waits of a queue are alike for long stretches, so that one seed is off by some per cent; four are averaged.
    const rates: number[] = [];
    for (const seed of [1, 2, 3, 4]) {
      const found = await searchCapacity({
        guessPerSecond: 0.5,
        tolerance: 0.01,
        probe: async (ratePerSecond) => {
          const { run } = await simulateRun(
            {
              arrivals: { process: 'poisson', ratePerSecond },
              stop: { requests: 2500 },
              outputLength: { kind: 'fixed', tokens: 1 },
              slo: { name: 'test', ttftMs: 4000 },
              seed,
            },
            { firstTokenMs: 1000, tokenMs: 0 },
          );
          return { share: run.figures.goodput.share };
        },
      });
      rates.push(found.ratePerSecond!);
    }
    expect(rates.reduce((sum, rate) => sum + rate, 0) / 4, rates.join(' ')).to.be.closeTo(low, 0.03 * low);
  });

  it('searchCapacity: says so when no rate keeps the SLO, or every one does', async () => {
    const never = await searchCapacity({ guessPerSecond: 1, probe: () => Promise.resolve({ share: 0.5 }) });
    expect(never).not.to.have.property('ratePerSecond');
    const always = await searchCapacity({ guessPerSecond: 1, probe: () => Promise.resolve({ share: 1 }) });
    expect(always).not.to.have.property('failedRatePerSecond');
    expect(always.ratePerSecond).to.equal(1024);
  });
});

describe('computeFigures', () => {
  it('computeFigures: agrees with the run that it is of', async () => {
    const { run } = await simulateRun({ arrivals: { process: 'poisson', ratePerSecond: 0.9 } });
    const again = computeFigures({
      samples: steady(run),
      failed: 0,
      fromMs: run.steadyFromMs,
      durationMs: run.durationMs,
      slo: run.conditions.slo,
    });
    expect(again).to.deep.equal(run.figures);
  });
});
