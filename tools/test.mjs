// `npm test`: type check, lint, unit and browser tests. The last line is "N passed, N failed, N skipped", and the exit code is true to it.
//   --quick   leaves out formatting, layers and the tests of the packed package
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureChromium } from './chromium.mjs';
import { listFiles } from './files.mjs';

const bin = (name, path) => [process.execPath, join('node_modules', path ?? `${name}/bin/${name}.js`)];

/** Checks count as one test each: a check that fails is a failure, not a footnote. */
const CHECKS = [
  ['types', [...bin('typescript', 'typescript/bin/tsc')]],
  ['lint', [...bin('eslint'), '.', '--max-warnings', '0']],
  ['format', [...bin('prettier', 'prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']],
  [
    'layers and cycles',
    [...bin('', 'dependency-cruiser/bin/dependency-cruise.mjs'), 'src', 'demo', '--config', '.dependency-cruiser.cjs'],
  ],
  ['size budget', [process.execPath, 'tools/size.mjs']],
  ['dead code', [...bin('knip'), '--no-progress']],
];

const totals = { passed: 0, failed: 0, skipped: 0 };
const scratch = mkdtempSync(join(tmpdir(), 'tokenglass-test-'));

function run([command, ...args], env = {}) {
  return (
    spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } }).status === 0
  );
}

function heading(name) {
  console.log(`\n== ${name}`);
}

function runChecks() {
  for (const [name, command] of CHECKS) {
    heading(name);
    totals[run(command) ? 'passed' : 'failed'] += 1;
  }
}

function add(counts, ok) {
  for (const key of Object.keys(totals)) totals[key] += counts[key] ?? 0;
  if (!ok && !counts.failed) totals.failed += 1; // a runner that fails without naming a test is a failure too
}

function readCounts(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}

function runNodeTests() {
  const files = [...listFiles('src'), ...listFiles('tools')].filter((path) => /\.node\.test\.(ts|mjs)$/.test(path));
  heading(`Node tests (${files.length} files)`);
  const counts = join(scratch, 'node.json');
  const reporter = `--test-reporter=${new URL('./node-count-reporter.mjs', import.meta.url).href}`;
  const ok = run(
    [
      process.execPath,
      '--import',
      'tsx',
      '--test',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      reporter,
      '--test-reporter-destination=stderr',
      ...files,
    ],
    { TEST_COUNTS: counts },
  );
  add(readCounts(counts), ok);
}

function runBrowserTests() {
  heading('Browser tests');
  const counts = join(scratch, 'browser.json');
  const ok = run([process.execPath, 'node_modules/@web/test-runner/dist/bin.js'], { TEST_COUNTS: counts });
  add(readCounts(counts), ok);
}

ensureChromium();
runChecks();
runNodeTests();
runBrowserTests();
rmSync(scratch, { recursive: true, force: true });
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed ? 1 : 0);
