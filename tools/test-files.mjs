// Which tests there are, and which of them a change concerns.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { listFiles } from './files.mjs';

export const isNodeTest = (path) => /\.node\.test\.(ts|mjs)$/.test(path);
export const isBrowserTest = (path) => /^src\/.*\.test\.ts$/.test(path) && !isNodeTest(path);

export const allNodeTests = () => [...listFiles('src'), ...listFiles('tools')].filter(isNodeTest);

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);

/** Files that differ from `base`, committed or not, and those that git does not know yet. */
export function changedFiles(base) {
  const since = base ?? 'HEAD';
  return [
    ...new Set([...git('diff', '--name-only', since), ...git('ls-files', '--others', '--exclude-standard')]),
  ].filter((path) => existsSync(path));
}

/** Files in the same tree that a file names in its imports. */
function importsOf(path) {
  const found = readFileSync(path, 'utf8').matchAll(/(?:from|import\(?)\s*['"](\.{1,2}\/[^'"?]+)/g);
  return [...found].map(([, name]) => posix.join(dirname(path), name));
}

/** Tests that changed, or that import a file that changed, or that stand beside one and bear its name. */
export function testsOf(changed) {
  const concerned = new Set(changed);
  const tests = [...allNodeTests(), ...listFiles('src').filter(isBrowserTest)];
  const beside = (test) => changed.some((path) => path.endsWith('.ts') && test.startsWith(path.slice(0, -'ts'.length)));
  return tests.filter(
    (test) => concerned.has(test) || beside(test) || importsOf(test).some((path) => concerned.has(join(path))),
  );
}
