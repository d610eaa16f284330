// Each version of TypeScript that we promise, from the registry, compiles what a consumer may write.
//   npm run types:versions
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { compile, consumerFolder } from './types/consumer-folder.mjs';

const VERSIONS = ['5.7.3', '5.8.3', '5.9.3', '6.0.3', '7.0.2'];
const CONSUMER = resolve('tools/types/consumer');

const place = consumerFolder();
const compilers = mkdtempSync(join(tmpdir(), 'tokenglass-compilers-'));
cpSync(CONSUMER, place.folder, { recursive: true });
const names = VERSIONS.map((version) => `typescript-${version}`);
const packages = VERSIONS.map((version) => `typescript-${version}@npm:typescript@${version}`);
const npm = spawnSync(
  'npm',
  ['install', '--prefix', compilers, '--no-audit', '--no-fund', '--loglevel=error', ...packages],
  {
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  },
);
if (npm.status !== 0) throw new Error('Cannot install the compilers from the registry');

let failed = 0;
for (const name of names)
  for (const moduleResolution of ['bundler', 'node16']) {
    const tsc = join(compilers, 'node_modules', name, 'bin/tsc');
    const said = compile(place.folder, readdirSync(CONSUMER), { tsc, moduleResolution });
    console.log(`${name}  ${moduleResolution}: ${said === '' ? 'no errors' : `\n${said}`}`);
    if (said !== '') failed += 1;
  }
place.remove();
rmSync(compilers, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
