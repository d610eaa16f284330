// The demo pages, built once per state of the sources.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'vite';
import { listFiles } from './files.mjs';

const STAMP = 'dist-demo/.sources';

function digestOfSources() {
  const hash = createHash('sha256');
  const files = ['package-lock.json', 'vite.config.ts', ...['src', 'demo', 'models'].flatMap(listFiles)];
  for (const path of files) hash.update(path).update(readFileSync(path));
  return hash.digest('hex');
}

/** Builds dist-demo/ unless it is up to date; resolves to its path. */
export async function buildDemo() {
  const digest = digestOfSources();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === digest) return 'dist-demo';
  console.error('Building the demo ...');
  await build({ configFile: 'vite.config.ts', logLevel: 'warn' });
  writeFileSync(STAMP, digest);
  return 'dist-demo';
}
