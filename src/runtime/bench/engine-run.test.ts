import { expect } from 'chai';
import { createFakeEngine } from '../engine/testing/fake-engine.ts';
import { fitPrompt } from './fit-prompt.ts';
import { makeReport } from './make-report.ts';
import { EngineRun, runInTurns } from './engine-run.ts';
import type { Workload } from './load/workload.ts';
import type { Run } from './report.ts';
import { reportTable } from './table.ts';

const WORKLOAD: Workload = {
  promptLength: { kind: 'fixed', tokens: 40 },
  outputLength: { kind: 'fixed', tokens: 6 },
  sharedPrefixShare: 0,
  turns: 1,
  arrivals: { process: 'closed-loop', users: 1, thinkTimeMs: 0 },
  stop: { requests: 3 },
  coolDownMs: 0,
  keepCache: false,
  warmUpRequests: 1,
  temperature: 0,
  seed: 1,
  raw: true,
  slo: { name: 'test', ttftMs: 1000, tpotMs: 1000 },
};

async function runAll(runs: EngineRun[]): Promise<Run[]> {
  await runInTurns(runs);
  return runs.map((run) => run.result());
}

describe('fitPrompt', () => {
  for (const tokens of [7, 40, 101]) {
    it(`fitPrompt: has exactly ${tokens} tokens, with and without the template, and another text for another variant`, async () => {
      const { engine } = createFakeEngine();
      const { input: first } = await fitPrompt(engine, tokens, { raw: true });
      const { input: second } = await fitPrompt(engine, tokens, { raw: true, variant: 1 });
      expect(await engine.countTokens({ prompt: first.prompt! })).to.equal(tokens);
      expect(first.prompt).not.to.equal(second.prompt);
      const { messages } = (await fitPrompt(engine, tokens + 20)).input;
      expect(await engine.countTokens({ messages: messages! })).to.equal(tokens + 20);
      await engine[Symbol.asyncDispose]();
    });
  }

  it('fitPrompt: refuses a count that the template alone exceeds', async () => {
    const { engine } = createFakeEngine();
    let error: unknown;
    await fitPrompt(engine, 1).catch((caught: unknown) => (error = caught));
    expect(error).to.be.instanceOf(RangeError);
  });
});

describe('runInTurns', () => {
  it('runInTurns: takes turns, measures exact lengths, leaves warm-up out of the figures', async () => {
    const runs = [createFakeEngine(), createFakeEngine()].map(({ engine }) => new EngineRun(engine, WORKLOAD));
    const order: number[] = [];
    for (const [index, run] of runs.entries()) {
      const next = run.next.bind(run);
      run.next = (signal) => (order.push(index), next(signal));
    }
    const [result] = await runAll(runs);
    expect(order).to.deep.equal([0, 1, 0, 1, 0, 1, 0, 1]);
    expect(
      result!.samples.map(({ promptTokens, outputTokens, warmUp }) => [promptTokens, outputTokens, warmUp]),
    ).to.deep.equal([
      [40, 6, true],
      [40, 6, false],
      [40, 6, false],
      [40, 6, false],
    ]);
    expect(result!.requests).to.deep.equal({ completed: 3, failed: 0 });
    expect(result!.figures.ttftMs.n).to.equal(3);
    expect(result!.figures.itlMs.n).to.equal(15);
    expect(result!.samples[1]!.ids).to.have.lengthOf(6);
  });

  it('runInTurns: a request that fails is recorded with its code, and the run goes on', async () => {
    const { engine } = createFakeEngine({ failStep: (step) => (step === 10 ? new RangeError('a fault') : undefined) });
    const [result] = await runAll([new EngineRun(engine, WORKLOAD)]);
    expect(result!.requests.completed + result!.requests.failed).to.equal(3);
    expect(result!.failures).to.have.lengthOf(1);
    expect(result!.failures[0]!.message).to.equal('a fault');
  });
});

describe('makeReport', () => {
  it('makeReport: names conditions, environment and ratios by pairs, and its table shows n beside percentiles', async () => {
    const runs = await runAll([1, 2].map(() => new EngineRun(createFakeEngine().engine, WORKLOAD)));
    const report = await makeReport(runs, { version: '0.0.0', command: 'test' });
    expect(report.format).to.equal('tokenglass.report/1');
    expect(report.environment.browser).to.match(/Chrom/);
    expect(report.runs[0]!.conditions).to.deep.include({ batch: 1, concurrency: 1, warmUpRequests: 1 });
    const table = reportTable(report);
    expect(table).to.match(/TTFT ms p50 \/ p95 \/ p99 .*n=3/);
    expect(JSON.parse(JSON.stringify(report))).to.deep.equal(report);
    for (const { n } of report.ratios ?? []) expect(n).to.be.at.most(3);
  });
});
