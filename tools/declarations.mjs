// What a consumer's compiler needs of our declarations: `strict`, `skipLibCheck: false`, TypeScript 5.7 and later, lib ES2022 and DOM.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { listFiles } from './files.mjs';

/**
 * WebGPU's interfaces that our declarations name. TypeScript before 6 has none of them in its DOM library. An empty interface
 * adds nothing where the real one is there, and stands for it where it is not.
 */
const GPU_INTERFACES = ['GPU', 'GPUBindGroup', 'GPUBuffer', 'GPUComputePassEncoder', 'GPUComputePipeline', 'GPUDevice'];

const gpuNames = `/** Interfaces of WebGPU, for a compiler whose DOM library has none of them. */
${GPU_INTERFACES.map((name) => `interface ${name} {}`).join('\n')}
`;

const SPECIFIER = /((?:\bfrom|\bimport)\s*\(?\s*)(['"])(\.{1,2}\/[^'"]+)\2/g;

/** The declaration that a relative specifier means. */
const declarationOf = (from, specifier) =>
  posix.join(posix.dirname(from), specifier.replace(/\.[jt]s$/, '')).concat('.d.ts');

/** Declarations that an entry leads to, itself included. */
function reachable(entries) {
  const found = new Set(entries);
  for (const path of found)
    for (const [, , , specifier] of readFileSync(path, 'utf8').matchAll(SPECIFIER)) {
      const target = declarationOf(path, specifier);
      if (existsSync(target)) found.add(target);
    }
  return found;
}

/**
 * Finishes the declarations that tsc wrote: names files as Node does (`.js`), tells entries which libraries they need, and drops
 * those that no entry leads to.
 *
 * @param dist - folder of the build
 * @param entries - declarations that package.json exports, as paths in that folder
 */
export function finishDeclarations(dist, entries) {
  const exported = new Set(entries.map((path) => join(dist, path).replaceAll('\\', '/')));
  const kept = reachable(exported);
  for (const path of listFiles(dist).filter((name) => name.endsWith('.d.ts'))) if (!kept.has(path)) rmSync(path);
  writeFileSync(join(dist, 'gpu-names.d.ts'), gpuNames);
  for (const path of kept) {
    const source = readFileSync(path, 'utf8');
    const named = source.replaceAll(SPECIFIER, (_, before, quote, specifier) => {
      return `${before}${quote}${specifier.replace(/\.ts$/, '.js')}${quote}`;
    });
    const names = relative(dirname(path), join(dist, 'gpu-names.d.ts')).replaceAll('\\', '/');
    const needs = `/// <reference lib="esnext.disposable" />\n/// <reference path="${names}" />\n`;
    writeFileSync(path, exported.has(path) ? needs + named : named);
  }
}

/** Declarations that package.json exports, named as types or beside a module: as paths in `dist`. */
export function exportedDeclarations() {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'));
  const paths = Object.values(exports).map((target) =>
    typeof target === 'string' ? target.replace(/\.js$/, '.d.ts') : target.types,
  );
  return paths.filter((path) => path?.endsWith('.d.ts')).map((path) => posix.relative('dist', path));
}
