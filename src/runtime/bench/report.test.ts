import { expect } from 'chai';
import { compareRuns, type ComparedRun } from './compare.ts';
import { reportCsv } from './csv.ts';
import { headlineOf } from './headline.ts';
import { loadReport } from './load-report.ts';
import { missedSlo } from './missed-slo.ts';
import type { Report } from './report.ts';
import { comparisonTable, reportMarkdown, reportTable } from './table.ts';
import { jittery, reportOf } from './testing/simulated-report.ts';

const first = (report: Report): ComparedRun => ({ report, run: report.runs[0]! });

describe('loadReport', () => {
  it('loadReport: an old, foreign, broken or incomplete file says what is wrong', async () => {
    const report = await reportOf();
    const { format: _, ...unnamed } = report;
    for (const [text, said] of [
      ['{', /no JSON/],
      ['[1]', /holds no report/],
      [JSON.stringify(unnamed), /says no format/],
      [JSON.stringify({ ...report, format: 'tokenglass.report/2' }), /update Tokenglass/],
      [JSON.stringify({ ...report, format: 'tokenglass.report/0' }), /run it again/],
      [JSON.stringify({ ...report, format: 'lighthouse' }), /not ours/],
      [JSON.stringify({ ...report, format: 'tokenglass.scenario/1' }), /scenario/],
      [JSON.stringify({ ...report, runs: [] }), /runs has 0 entries/],
    ] as const)
      expect(() => loadReport(text)).to.throw(RangeError, said);
  });
});

describe('compareRuns', () => {
  it('compareRuns: a device that is 20 % slower is beyond noise, with the ratio in its interval', async () => {
    const a = first(await reportOf({ stop: { requests: 60 } }, jittery(1)));
    const b = first(await reportOf({ stop: { requests: 60 }, seed: 1000 }, jittery(1.2)));
    const { figures, refused, warnings } = compareRuns(a, b);
    expect(refused).to.equal(undefined);
    expect(warnings.join()).to.include('seed: 1 and 1000');
    expect(figures.map(({ name }) => name)).to.deep.equal(['TTFT', 'ITL', 'TPOT', 'E2E', 'prefill']);
    for (const { name, ratio, isBeyondNoise, verdict } of figures) {
      const expected = name === 'prefill' ? 1 / 1.2 : 1.2;
      expect(isBeyondNoise, name).to.equal(true);
      expect(ratio.low, name).to.be.below(expected);
      expect(ratio.high, name).to.be.above(expected);
      expect(ratio.high - ratio.low, name).to.be.below(0.1);
      expect(verdict, name).to.include('worse, beyond noise');
    }
  });

  it('compareRuns: the same device twice is within noise; a handful of requests tells nothing', async () => {
    const a = first(await reportOf({ stop: { requests: 40 } }, jittery(1)));
    const b = first(await reportOf({ stop: { requests: 40 }, seed: 500 }, jittery(1)));
    for (const { name, isBeyondNoise } of compareRuns(a, b).figures) expect(isBeyondNoise, name).to.equal(false);
    const [c, d] = [
      first(await reportOf({ stop: { requests: 3 } })),
      first(await reportOf({ stop: { requests: 3 } }, jittery(3))),
    ];
    const few = compareRuns(c, d).figures;
    expect(few.every(({ isBeyondNoise, verdict }) => !isBeyondNoise && verdict.includes('Too few'))).to.equal(true);
  });

  it('compareRuns: refuses runs that were asked different questions, in words, unless it is insisted on', async () => {
    const a = first(await reportOf());
    const b = first(
      await reportOf({
        promptLength: { kind: 'fixed', tokens: 30 },
        arrivals: { process: 'constant', ratePerSecond: 1 },
      }),
    );
    const { refused, figures } = compareRuns(a, b);
    expect(refused)
      .to.include('prompt length: 20 and 30')
      .and.to.include('arrivals: closed loop, 1 user and open loop, constant, 1 req/s');
    expect(figures).to.be.empty;
    expect(comparisonTable(compareRuns(a, b))).to.equal(refused);
    const insisted = compareRuns(a, b, { insist: true });
    expect(insisted.warnings[0]).to.equal(refused);
    expect(insisted.figures).not.to.be.empty;
  });

  it('compareRuns: warns when more than one thing differs', async () => {
    const a = first(await reportOf());
    const b = structuredClone(a);
    b.report.environment.browser = 'Firefox 150';
    expect(compareRuns(a, b).warnings.join()).not.to.include('differ at once');
    b.run.conditions.model.quantization = 'Q8_0';
    expect(compareRuns(a, b).warnings.join()).to.include('2 things differ at once (model, browser)');
  });
});

describe('reportTable, reportMarkdown, reportCsv', () => {
  it('reportMarkdown: opens with what a reader in a hurry wants, and never mixes one user with the machine', async () => {
    const report = await reportOf({ arrivals: { process: 'constant', ratePerSecond: 2 } });
    const markdown = reportMarkdown(report);
    expect(
      headlineOf(report.runs[0]!, report).figures.map(({ label, value, detail }) => [label, value, detail]),
    ).to.deep.equal([
      ['TTFT p95', '9425 ms', 'n = 20 requests'],
      ['ITL p95', '100 ms', 'n = 120 gaps'],
      ['Peak of the machine', '7.00 tok/s', 'best 1.00 s of the run'],
      ['Goodput', '0.25 req/s', '25 % of 20 met test: TTFT 2400 ms'],
    ]);
    for (const part of [
      'TTFT p95 9425 ms',
      'simulated Q4_0',
      'Repeat with',
      '| one user tok/s p50 / p95 / p99 | 10.0 / 10.0 / 10.0  n=20',
      '| machine tok/s, peak ',
    ])
      expect(markdown).to.include(part);
  });

  it('reportTable: what a server does not tell of its model is said to be unknown, and is no 0', async () => {
    const report = await reportOf();
    const [run] = report.runs;
    const { adapter: _, ...conditions } = run!.conditions;
    const model = { ...conditions.model, parameters: 0, weightBytes: 0, unknown: ['quantization', 'weightBytes'] };
    const engine = { ...conditions.engine, name: 'endpoint' };
    const told = { ...report, runs: [{ ...run!, conditions: { ...conditions, model, engine } }] };
    for (const text of [reportTable(told), reportMarkdown(told)]) {
      expect(text).to.include('size unknown').and.to.include('a server, not this device');
      expect(text).not.to.include('0.0 MB');
    }
    expect(() => loadReport(JSON.stringify(told))).not.to.throw();
  });

  it('reportTable: says no mean, and n beside every percentile', async () => {
    const table = reportTable(await reportOf());
    expect(table).not.to.match(/\b(mean|average|avg)\b/i);
    for (const line of table.split('\n').filter((row) => row.includes('p50 / p95 / p99')))
      expect(line).to.match(/n=\d+/);
  });

  it('reportCsv: one line per request, warm-up named, text quoted', async () => {
    const report = await reportOf({ warmUpRequests: 1, stop: { requests: 3 } });
    const [head, ...lines] = reportCsv(report).trimEnd().split('\r\n');
    expect(lines).to.have.lengthOf(4);
    const columns = head!.split(',');
    const cell = (line: string, name: string): string => line.split(',')[columns.indexOf(name)]!;
    expect(lines.map((line) => cell(line, 'stage'))).to.deep.equal(['warm-up', 'steady', 'steady', 'steady']);
    expect(lines.map((line) => cell(line, 'ttft_ms'))).to.deep.equal(['400', '400', '400', '400']);
    expect(columns.some((name) => name.includes('system') || name.includes('mean'))).to.equal(false);
  });

  it('missedSlo: a sentence with the share and each limit; nothing when 95 % met it', async () => {
    const report = await reportOf({ arrivals: { process: 'constant', ratePerSecond: 2 } });
    expect(missedSlo(report, { name: 'own', ttftMs: 2400, e2eMs: 20_000 })).to.deep.equal([
      'simulated missed the SLO own: TTFT 2400 ms, E2E 20000 ms: 25 % of the requests met it, 95.0 % have to (TTFT: 25 %, E2E: 100 %)',
    ]);
    expect(missedSlo(report, { name: 'own', ttftMs: 9400 })).to.deep.equal([]); // 19 of 20
  });
});

describe('notesOf', () => {
  it('notesOf: gaps that rise over a run are told, and steady ones are not', async () => {
    const warm = await reportOf(
      { stop: { requests: 30 } },
      { firstTokenMs: 400, tokenMs: ({ sampling }) => 100 * (1 + sampling!.seed! / 60) },
    );
    expect(warm.runs[0]!.notes.map(({ code }) => code)).to.include('thermal-drift');
    const steady = await reportOf({ stop: { requests: 30 } }, jittery(1));
    expect(steady.runs[0]!.notes.map(({ code }) => code)).not.to.include('thermal-drift');
  });

  it('notesOf: few samples are told, and lengths that did not fit', async () => {
    const few = await reportOf({ stop: { requests: 5 }, promptLength: { kind: 'exponential', mean: 100_000 } });
    expect(few.runs[0]!.notes.map(({ code }) => code)).to.include.members(['few-samples', 'clamped-lengths']);
    expect((await reportOf()).runs[0]!.notes).to.deep.equal([]);
  });
});
