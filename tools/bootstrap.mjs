#!/usr/bin/env node
// `npm run demo`, `npm test`, ... on a fresh clone: checks Node, installs the locked dependencies when they are missing or old, then runs
// the tool. Uses nothing but Node.
//   node tools/bootstrap.mjs <tool> [arguments]
import { existsSync, statSync, utimesSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MINIMUM_NODE = [20, 19];

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantedMajor, wantedMinor] = MINIMUM_NODE;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  fail(`Cannot run on Node ${process.versions.node}: install Node ${MINIMUM_NODE.join('.')} or later`);
}

/** npm's own record of what it installed: newer than the lock file unless that changed since (a pull, an edit). */
const INSTALLED = join(ROOT, 'node_modules', '.package-lock.json');

function areDependenciesInstalled() {
  if (!existsSync(INSTALLED)) return false;
  return statSync(INSTALLED).mtimeMs >= statSync(join(ROOT, 'package-lock.json')).mtimeMs;
}

/** Installs what package-lock.json says, unless that was done already. */
function ensureDependencies() {
  if (areDependenciesInstalled()) return;
  console.error('Installing dependencies (npm ci), once ...');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status, error } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) fail(`Cannot install dependencies: npm ci ${error ? error.message : `ended with ${status}`}`);
  const now = new Date();
  utimesSync(INSTALLED, now, now); // npm leaves the old time where nothing had to change
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const [tool, ...args] = process.argv.slice(2);
if (!tool || !existsSync(join(ROOT, 'tools', `${tool}.mjs`)))
  fail(`Cannot run "${tool}": there is no tools/${tool}.mjs`);
checkNode();
ensureDependencies();
process.chdir(ROOT);
const { register } = await import('tsx/esm/api'); // tools read the tables of the product, which are TypeScript
register();
process.argv = [process.argv[0], join(ROOT, 'tools', `${tool}.mjs`), ...args];
try {
  await import(pathToFileURL(process.argv[1]).href);
} catch (error) {
  // An error of a page comes with the page's stack in its message: a person wants the sentence.
  const sentence = error.message.split(/\n\s+at /)[0].replace(/^page\.evaluate: (TokenglassError: )?/, '');
  fail(process.env.DEBUG ? error.stack : sentence);
}
