import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { checkSchema } from './check-schema.ts';
import { loadReport, reportProblems } from './load-report.ts';
import { REPORT_SCHEMA } from './report-schema.ts';
import { changed, requiredPaths } from './testing/report-mutations.ts';
import { reportOf } from './testing/simulated-report.ts';

const DECLARED = [
  'model',
  'engine',
  'batch',
  'promptLength',
  'outputLength',
  'arrivals',
  'concurrency',
  'warmUpRequests',
  'seed',
  'slo',
  'prefixCache',
  'speculative',
];

void describe('report schema', () => {
  const byAjv = new Ajv2020({ strict: false }).compile(REPORT_SCHEMA);

  for (const [name, changes] of [
    ['closed loop', {}],
    [
      'Poisson, lognormal',
      { arrivals: { process: 'poisson', ratePerSecond: 1 }, promptLength: { kind: 'lognormal', mean: 30, p99: 90 } },
    ],
    [
      'turns, cool-down',
      { turns: 2, arrivals: { process: 'closed-loop', users: 2, thinkTimeMs: 10 }, coolDownMs: 1000 },
    ],
    ['answers of one token', { outputLength: { kind: 'fixed', tokens: 1 } }],
  ] as const)
    void it(`reportProblems: none for a report of a run (${name}), here and by ajv`, async () => {
      const report = await reportOf(changes);
      assert.deepEqual(reportProblems(report), []);
      assert.ok(byAjv(report), JSON.stringify(byAjv.errors));
      assert.deepEqual(loadReport(JSON.stringify(report)), report);
    });

  void it('reportProblems: each declaration that is missing makes the report invalid, and is named', async () => {
    const report = await reportOf();
    const paths = requiredPaths(REPORT_SCHEMA, REPORT_SCHEMA);
    assert.ok(paths.length > 70);
    for (const path of paths) {
      const without = changed(report, path);
      if (!without) continue; // of an optional part that this report does not have
      const problems = reportProblems(without).join();
      assert.notEqual(problems, '', path.join('.'));
      if (path[0] !== 'format') assert.match(problems, new RegExp(`${path.at(-1)} is missing`));
      assert.equal(byAjv(without), false, path.join('.'));
    }
    const names = new Set(paths.map((path) => path.join('.')));
    for (const declared of DECLARED) assert.ok(names.has(`runs.0.conditions.${declared}`), declared);
  });

  void it('reportProblems: agrees with ajv on values of wrong types and out of range', async () => {
    const report = await reportOf();
    for (const path of requiredPaths(REPORT_SCHEMA, REPORT_SCHEMA))
      for (const value of ['x', '', -1, 0.5, true, [], {}, null, 1e9]) {
        const mutated = changed(report, path, value);
        if (!mutated) continue;
        const isValid = checkSchema(mutated, REPORT_SCHEMA).length === 0;
        assert.equal(isValid, byAjv(mutated), `${path.join('.')} = ${JSON.stringify(value)}`);
      }
  });

  void it('reportProblems: what computed has to be declared, an adapter or a number of threads', async () => {
    const report = await reportOf();
    const { threads: _, ...engine } = report.runs[0]!.conditions.engine;
    const silent = changed(report, ['runs', 0, 'conditions', 'engine'], engine)!;
    assert.match(reportProblems(silent).join(), /adapter|threads/);
    assert.equal(byAjv(silent), false);
    const adapter = { vendor: 'v', architecture: 'a', description: '', isFallback: false, features: ['shader-f16'] };
    const onGpu = changed(silent, ['runs', 0, 'conditions'], { ...silent.runs[0]!.conditions, adapter })!;
    assert.deepEqual(reportProblems(onGpu), []);
  });

  void it('docs/report.schema.json: is the schema that reports are checked against (tools/report-schema.ts writes it)', () => {
    assert.deepEqual(JSON.parse(readFileSync('docs/report.schema.json', 'utf8')), REPORT_SCHEMA);
  });
});
