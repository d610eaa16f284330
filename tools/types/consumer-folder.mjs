// A folder as a consumer has it: `node_modules` with our declarations and what they need, for compilers to be run in.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { exportedDeclarations, finishDeclarations } from '../declarations.mjs';
import { writeElementTypes } from '../framework-types.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

/** Global types that a page has not by itself, so nothing of ours may need them. */
const KEPT_TYPES = ['react', 'react-dom', 'trusted-types'];

function linkModules(from, into) {
  mkdirSync(into, { recursive: true });
  for (const name of readdirSync(from))
    if (!name.startsWith('.') && name !== '@types' && name !== '@webgpu' && name !== 'tokenglass')
      symlinkSync(join(from, name), join(into, name), 'junction');
  mkdirSync(join(into, '@types'));
  for (const name of KEPT_TYPES) symlinkSync(join(from, '@types', name), join(into, '@types', name), 'junction');
}

/** @returns a new folder outside this project; `remove` it afterwards */
export function consumerFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tokenglass-types-'));
  const modules = join(folder, 'node_modules');
  linkModules(join(ROOT, 'node_modules'), modules);
  const dist = join(modules, 'tokenglass/dist');
  mkdirSync(dirname(dist));
  cpSync(join(ROOT, 'package.json'), join(modules, 'tokenglass/package.json'));
  const args = [
    '-p',
    'tsconfig.build.json',
    '--emitDeclarationOnly',
    '--sourceMap',
    'false',
    '--inlineSources',
    'false',
    '--outDir',
    dist,
  ];
  const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (tsc.status !== 0) throw new Error(`Cannot write the declarations: ${tsc.stdout}`);
  writeElementTypes(dist);
  finishDeclarations(dist, exportedDeclarations());
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * Compiles files of a consumer's folder, as strictly as a consumer can.
 *
 * @param tsc - path of a TypeScript compiler
 * @param moduleResolution - 'bundler' or 'node16'
 * @returns what the compiler says; empty if all is well
 */
export function compile(folder, files, { tsc, moduleResolution, options = {} }) {
  const compilerOptions = {
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    module: moduleResolution === 'bundler' ? 'ESNext' : 'Node16',
    moduleResolution,
    jsx: 'react-jsx',
    types: [],
    ...options,
  };
  const config = join(folder, `tsconfig.${moduleResolution}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  return spawnSync(process.execPath, [tsc, '-p', config, '--pretty', 'false'], { encoding: 'utf8' }).stdout;
}
