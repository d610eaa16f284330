// The commands of the README do what it says, in a real browser, with no connection to anywhere.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const run = (tool, ...args) =>
  spawnSync(process.execPath, ['tools/bootstrap.mjs', tool, ...args], { encoding: 'utf8' });

describe('npm run demo -- --headless', () => {
  it('demo: prints the streamed answer and its figures, and exits 0', () => {
    const { status, stdout, stderr } = run('demo', '--headless', 'What is TTFT?');
    assert.equal(status, 0, stderr);
    assert.match(stdout, /first token/i, 'the built-in model knows what TTFT is');
    for (const row of [
      /^engine +wasm/m,
      /^adapter +\S/m,
      /^TTFT +[\d.]+ ms/m,
      /^ITL p50 +[\d.]+ ms +\(n=\d+\)/m,
      /^ITL p95 +[\d.]+ ms/m,
      /^tok\/s +[\d.]+/m,
    ])
      assert.match(stdout, row);
    assert.doesNotMatch(stderr, /left the machine/, 'nothing beyond the page is asked for');
  });

  it('demo: an engine that does not exist is a sentence and exit code 1', () => {
    const { status, stderr } = run('demo', '--headless', '--engine', 'abacus', 'Hello');
    assert.equal(status, 1);
    assert.match(stderr, /abacus/);
    assert.doesNotMatch(stderr, /\n\s+at /, 'no stack trace');
  });
});

describe('npm run bench', () => {
  it('bench: writes a report with every declaration that makes it comparable', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokenglass-bench-'));
    const file = join(folder, 'out.json');
    const args = [
      '--engine',
      'onnx-wasm',
      '--prompt-tokens',
      '48',
      '--output-tokens',
      '8',
      '--requests',
      '2',
      '--json',
      file,
    ];
    const { status, stdout, stderr } = run('bench', ...args);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /TTFT ms p50 \/ p95 \/ p99 .*n=2/);
    const report = JSON.parse(readFileSync(file, 'utf8'));
    rmSync(folder, { recursive: true });
    assert.equal(report.format, 'tokenglass.report/1');
    const [{ conditions, samples, figures, requests }] = report.runs;
    for (const name of [
      'model',
      'engine',
      'batch',
      'promptLength',
      'outputLength',
      'arrivals',
      'concurrency',
      'warmUpRequests',
      'slo',
      'prefixCache',
      'speculative',
    ])
      assert.ok(name in conditions, `${name} is declared`);
    assert.ok(conditions.model.weightBytes > 1e6);
    assert.deepEqual(requests, { completed: 2, failed: 0 });
    assert.deepEqual(
      samples.map((sample) => [sample.promptTokens, sample.outputTokens, sample.ids.length, sample.warmUp]),
      [
        [48, 8, 8, true],
        [48, 8, 8, false],
        [48, 8, 8, false],
      ],
    );
    assert.equal(figures.itlMs.n, 14);
    assert.equal(report.figures['ttftMs.n'], 2);
  });

  it('bench: an open loop with an SLO that is missed prints the table, says what was missed, and exits 1', () => {
    const load = [
      '--prompt-tokens',
      '24',
      '--output-tokens',
      '3',
      '--arrivals',
      'poisson',
      '--rate',
      '8',
      '--duration',
      '2',
    ];
    const { status, stdout, stderr } = run(
      'bench',
      '--engine',
      'onnx-wasm',
      ...load,
      '--slo',
      'reading',
      '--assert',
      'ttft=0.01',
    );
    assert.equal(status, 1);
    assert.match(stdout, /open loop, poisson, 8 req\/s/);
    assert.match(stdout, /TTFT ms p50 \/ p95 \/ p99 .*n=16/);
    assert.match(stdout, /reading: /);
    assert.match(stderr, /^onnx-wasm missed the SLO own: TTFT 0.01 ms: 0 % of the requests met it/m);
  });

  it('bench: --json - gives the JSON alone', () => {
    const { status, stdout } = run(
      'bench',
      '--engine',
      'onnx-wasm',
      '--prompt',
      'Hi',
      '--output-tokens',
      '4',
      '--requests',
      '1',
      '--warm-up',
      '0',
      '--json',
      '-',
    );
    assert.equal(status, 0);
    assert.equal(JSON.parse(stdout).runs[0].samples.length, 1);
  });

  it('bench: wrong options are a sentence and exit code 1, before anything is built', () => {
    for (const args of [
      ['--engine', 'abacus'],
      ['--output-tokens', '0'],
      ['--model', './nowhere.gguf'],
      ['--temperature', 'hot'],
      ['--arrivals', 'poisson'],
      ['--slo', 'soon'],
      ['--assert', 'soon'],
      ['--scenario', 'none'],
    ]) {
      const { status, stderr } = run('bench', ...args);
      assert.equal(status, 1, args.join(' '));
      assert.match(stderr, /^Cannot /m);
    }
  });
});
