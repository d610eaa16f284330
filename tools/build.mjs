// The library build: src/ becomes dist/ file by file (ES modules and type declarations), so that bundlers of users see the very
// `new URL(..., import.meta.url)` patterns by which they find the worker, the wasm and the built-in model.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { exportedDeclarations, finishDeclarations } from './declarations.mjs';
import { listFiles } from './files.mjs';
import { writeElementTypes } from './framework-types.mjs';

rmSync('dist', { recursive: true, force: true });
const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});
if (tsc.status !== 0) process.exit(tsc.status ?? 1);

/** Shaders become modules: `./x.wgsl?raw` is Vite's word for the text of a file, other bundlers have others. */
for (const path of listFiles('src').filter((name) => name.endsWith('.wgsl'))) {
  const target = join('dist', path.slice('src/'.length)) + '.js';
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, `export default ${JSON.stringify(readFileSync(path, 'utf8'))};\n`);
}

for (const path of listFiles('dist').filter((name) => name.endsWith('.js'))) {
  const source = readFileSync(path, 'utf8');
  const built = source
    .replaceAll(/(['"])(\.[^'"]*\.wgsl)\?raw\1/g, '$1$2.js$1')
    .replaceAll(/(new URL\(\s*['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2')
    // Vite knows `?url`, other bundlers do not; this form of the same, with a package's name in it, Vite and webpack both know.
    .replaceAll(
      /\bimport\((['"])([^'"]*)\?url\1\)/g,
      'Promise.resolve({ default: new URL($1$2$1, import.meta.url).href })',
    );
  if (built !== source) writeFileSync(path, built);
}
writeElementTypes('dist');
finishDeclarations('dist', exportedDeclarations());
// What a report is checked against, for other tools: `tokenglass/report.schema.json`.
copyFileSync('docs/report.schema.json', 'dist/report.schema.json');

console.log(`dist: ${listFiles('dist').filter((name) => name.endsWith('.js')).length} modules`);
