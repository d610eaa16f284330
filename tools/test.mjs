// The tests. The last line is "N passed, N failed, N skipped", and the exit code is true to it.
//   npm test                      everything: types, lint, format, layers, size, dead code, Node tests, browser tests
//   npm test -- FILE [FILE ...]   these test files alone, Node's or the browser's
//   npm run test:fast             types, and lint, format and tests of the files that changed since the last commit
//   npm run test:fast -- --base main   the same since another commit
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureChromium } from './chromium.mjs';
import { nodeProgram, runCommand } from './run-command.mjs';
import { allNodeTests, changedFiles, isBrowserTest, isNodeTest, testsOf } from './test-files.mjs';

const TSC = nodeProgram('typescript/bin/tsc');
const ESLINT = nodeProgram('eslint/bin/eslint.js');
const PRETTIER = [...nodeProgram('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn'];

/** Each check counts as one test: a check that fails is a failure, not a footnote. */
const CHECKS = [
  ['types', TSC],
  ['lint', [...ESLINT, '.', '--max-warnings', '0']],
  ['format', [...PRETTIER, '.']],
  [
    'layers and cycles',
    [
      ...nodeProgram('dependency-cruiser/bin/dependency-cruise.mjs'),
      'src',
      'demo',
      '--config',
      '.dependency-cruiser.cjs',
    ],
  ],
  ['size budget', [process.execPath, 'tools/size.mjs']],
  ['dead code', [...nodeProgram('knip/bin/knip.js'), '--no-progress']],
];

/** Time for one file of Node tests, which a test that left a server open would keep running. */
const FILE_LIMIT_MS = 8 * 60_000;

const totals = { passed: 0, failed: 0, skipped: 0 };
const scratch = mkdtempSync(join(tmpdir(), 'tokenglass-test-'));

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

async function runChecks(checks) {
  for (const [name, command] of checks) {
    console.log(`\n== ${name}`);
    const { ok } = await runCommand(command);
    totals[ok ? 'passed' : 'failed'] += 1;
  }
}

async function runNodeTests(files) {
  if (!files.length) return;
  console.log(`\n== Node tests (${files.length} files)`);
  const counts = join(scratch, 'node.json');
  const { ok } = await runCommand(
    [
      process.execPath,
      '--import',
      'tsx',
      '--test',
      `--test-timeout=${FILE_LIMIT_MS}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${new URL('./node-count-reporter.mjs', import.meta.url).href}`,
      '--test-reporter-destination=stderr',
      ...files,
    ],
    { env: { TEST_COUNTS: counts } },
  );
  add(readCounts(counts), ok);
}

/** What the browser tests print is kept until they have ended, as other checks print beside them. `files`: all without it. */
async function runBrowserTests(files) {
  if (files && !files.length) return;
  const counts = join(scratch, 'browser.json');
  const { ok, output } = await runCommand(nodeProgram('@web/test-runner/dist/bin.js'), {
    env: { TEST_COUNTS: counts, ...(files && { TEST_FILES: files.join(',') }) },
    quiet: true,
  });
  add(readCounts(counts), ok);
  return `\n== Browser tests\n${output}`;
}

/** Node tests start browsers of their own and wait for them most of the time: both kinds run beside each other. */
async function runTests(checks, nodeTests, browserTests) {
  const inBrowser = runBrowserTests(browserTests);
  await runChecks(checks);
  await runNodeTests(nodeTests);
  console.log((await inBrowser) ?? '');
}

async function runFast(args) {
  const base = args[0] === '--base' ? args[1] : undefined;
  const changed = changedFiles(base);
  const tests = testsOf(changed);
  const linted = changed.filter((path) => /^(src|demo|tools)\/.*\.(ts|mjs)$/.test(path));
  const formatted = changed.filter((path) => /\.(ts|mjs|cjs|js|json|css|html|md)$/.test(path));
  console.log(`${changed.length} files changed; ${tests.length} test files are concerned`);
  await runTests(
    [
      ['types', TSC],
      ...(linted.length ? [['lint', [...ESLINT, ...linted, '--max-warnings', '0', '--no-warn-ignored']]] : []),
      ...(formatted.length ? [['format', [...PRETTIER, ...formatted]]] : []),
    ],
    tests.filter(isNodeTest),
    tests.filter(isBrowserTest),
  );
}

/** Pages of strangers, built from the registry: CI asks for them, as a person's tests must not need the network. */
async function runConsumers() {
  console.log('\n== Consumers');
  const counts = join(scratch, 'consumers.json');
  const { ok } = await runCommand([process.execPath, 'tools/bootstrap.mjs', 'consumers', '--fast'], {
    env: { TEST_COUNTS: counts },
  });
  add(readCounts(counts), ok);
}

const args = process.argv.slice(2);
ensureChromium();
if (args[0] === '--fast') await runFast(args.slice(1));
else if (args.length) {
  const unknown = args.filter((path) => !isNodeTest(path) && !isBrowserTest(path));
  if (unknown.length)
    throw new TypeError(`Cannot test ${unknown.join(', ')}: name files that end in .test.ts or .node.test.mjs`);
  await runTests([], args.filter(isNodeTest), args.filter(isBrowserTest));
} else {
  await runTests(CHECKS, allNodeTests());
  if (process.env.TOKENGLASS_CONSUMERS) await runConsumers();
}
rmSync(scratch, { recursive: true, force: true });
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed ? 1 : 0);
