// `npm test`: type check, lint, unit and browser tests. The last line is "N passed, N failed, N skipped", and the exit code is true to it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

/** Time for one check or one group of tests: far more than any takes, so that what hangs is a failure with a name. */
const LIMIT_MS = 35 * 60_000;
/** Time for one file of Node tests, which a test that left a server open would keep running. */
const FILE_LIMIT_MS = 8 * 60_000;

/** Resolves to whether it ended well. It has a process group of its own: browsers that it started end with it. */
async function run([command, ...args], env = {}) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
    detached: process.platform !== 'win32',
  });
  const end = () => {
    try {
      process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const interrupt = () => (end(), process.exit(130));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const timer = setTimeout(() => {
    console.error(`Ended after ${LIMIT_MS / 60_000} minutes: ${args.join(' ')}`);
    end();
  }, LIMIT_MS);
  const [status] = await once(child, 'exit');
  clearTimeout(timer);
  process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  end();
  return status === 0;
}

function heading(name) {
  console.log(`\n== ${name}`);
}

async function runChecks() {
  for (const [name, command] of CHECKS) {
    heading(name);
    totals[(await run(command)) ? 'passed' : 'failed'] += 1;
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

async function runNodeTests() {
  const files = [...listFiles('src'), ...listFiles('tools')].filter((path) => /\.node\.test\.(ts|mjs)$/.test(path));
  heading(`Node tests (${files.length} files)`);
  const counts = join(scratch, 'node.json');
  const reporter = `--test-reporter=${new URL('./node-count-reporter.mjs', import.meta.url).href}`;
  const ok = await run(
    [
      process.execPath,
      '--import',
      'tsx',
      '--test',
      `--test-timeout=${FILE_LIMIT_MS}`,
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

async function runBrowserTests() {
  heading('Browser tests');
  const counts = join(scratch, 'browser.json');
  const ok = await run([process.execPath, 'node_modules/@web/test-runner/dist/bin.js'], { TEST_COUNTS: counts });
  add(readCounts(counts), ok);
}

ensureChromium();
await runChecks();
await runNodeTests();
await runBrowserTests();
rmSync(scratch, { recursive: true, force: true });
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed ? 1 : 0);
