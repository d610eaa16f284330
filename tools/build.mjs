// The library build. `dist/` has the page side as modules that share chunks, the worker as one file that imports nothing, and the parts
// that either fetches when they are used; types are beside them, file by file. A file `x.dist.ts` stands for `x.ts` here: it finds by URL
// what a build of the sources finds through its bundler.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { exportedDeclarations, finishDeclarations } from './declarations.mjs';
import { writeElementTypes } from './framework-types.mjs';
import { COMMON_BUILD, WORKER_BUILD, distVariants, rawShaders } from './build-plugins.mjs';

const OUT = 'dist';
const ORT = 'node_modules/onnxruntime-web/dist';

rmSync(OUT, { recursive: true, force: true });
const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});
if (tsc.status !== 0) process.exit(tsc.status ?? 1);

/** `locate` is a module of its own, whose name tells whether a bundler has taken it in. @type {import('esbuild').Plugin} */
const locateApart = {
  name: 'locate-apart',
  setup({ onResolve }) {
    onResolve({ filter: /\/locate\.ts$/ }, () => ({ path: './locate.js', external: true }));
  },
};

/**
 * The grammar library is a UMD bundle with branches for Node, whose `require` and `Buffer` bundlers try to replace: here it is a module
 * without them.
 */
const grammarModule = () =>
  `${readFileSync('node_modules/@mlc-ai/web-xgrammar/lib/index.js', 'utf8')
    .replaceAll(/var ENVIRONMENT_IS_NODE=[^;]+;/g, '')
    .replaceAll(/\bENVIRONMENT_IS_NODE\b/g, 'false')
    .replaceAll(/import\((['"])module\1\)/g, 'undefined')
    .replaceAll("require('u' + 'rl')", 'undefined')
    .replace("typeof exports === 'object' && typeof module !== 'undefined'", 'false')
    .replace("typeof define === 'function' && define.amd", 'false')}
  const { TokenizerInfo, GrammarCompiler, GrammarMatcher } = globalThis.xgrammar;
  export { TokenizerInfo, GrammarCompiler, GrammarMatcher };`;

/**
 * Importing an element defines it: package.json names the modules that do so, for bundlers to leave out all others that a page has no use
 * for. A chunk in which there is one is therefore called `elements-`.
 */
function nameChunksOfElements({ outputs }) {
  const isOfElements = ([path, { inputs }]) =>
    /chunk-[A-Z0-9]+\.js$/.test(path) && Object.keys(inputs).some((input) => input.startsWith('src/ui/'));
  const names = Object.entries(outputs)
    .filter(isOfElements)
    .map(([path]) => basename(path, '.js'));
  const renamed = (text) =>
    names.reduce((all, name) => all.replaceAll(name, name.replace('chunk-', 'elements-')), text);
  for (const path of Object.keys(outputs)) {
    const text = readFileSync(path, 'utf8');
    rmSync(path);
    writeFileSync(renamed(path), renamed(text));
  }
}

// The worker first: it becomes a text of the page side too.
await build({
  ...WORKER_BUILD,
  entryPoints: { 'engine.worker': 'src/worker/engine.worker.ts' },
  outdir: OUT,
  sourcemap: true,
});
await build({
  ...COMMON_BUILD,
  entryPoints: { 'onnx-part': 'src/runtime/load/onnx-part.ts' },
  outdir: OUT,
  minify: true,
  plugins: [distVariants, rawShaders],
});
await build({
  ...COMMON_BUILD,
  stdin: { contents: grammarModule(), resolveDir: '.' },
  outfile: join(OUT, 'grammar.js'),
  minify: true,
});
await build({
  ...COMMON_BUILD,
  entryPoints: { locate: 'src/worker/locate.dist.ts' },
  outdir: OUT,
  external: ['./embedded-*'],
  plugins: [distVariants],
});
const pageSide = await build({
  ...COMMON_BUILD,
  entryPoints: {
    index: 'src/index.ts',
    ui: 'src/ui/index.ts',
    chat: 'src/ui/chat/chat.ts',
    dashboard: 'src/ui/dashboard/index.ts',
    metrics: 'src/runtime/metrics/index.ts',
    bench: 'src/runtime/bench/index.ts',
    onnx: 'src/onnx.ts',
    'web-llm': 'src/web-llm.ts',
    react: 'src/ui/react/index.ts',
  },
  outdir: OUT,
  chunkNames: 'chunk-[hash]',
  splitting: true,
  sourcemap: true,
  packages: 'external',
  metafile: true,
  plugins: [locateApart, distVariants, rawShaders],
});
nameChunksOfElements(pageSide.metafile);
await build({
  ...COMMON_BUILD,
  entryPoints: { cdn: 'src/cdn.ts' },
  outdir: OUT,
  chunkNames: 'cdn-[hash]',
  splitting: true,
  minify: true,
  external: ['./embedded-*'],
  plugins: [distVariants, rawShaders],
});

/** Parcel takes the very form in which esbuild writes an import that it has bundled for an import of its own (2.16); another form is left alone. */
for (const name of ['engine.worker.js', 'onnx-part.js']) {
  const path = join(OUT, name);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('Promise.resolve().then(', 'Promise.resolve(0).then('));
}

const text = (content) => `export default ${JSON.stringify(content)};\n`;
const worker = readFileSync(join(OUT, 'engine.worker.js'), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
writeFileSync(join(OUT, 'embedded-worker.js'), text(worker));
writeFileSync(join(OUT, 'embedded-tutor.js'), text(readFileSync('models/tutor/tutor.q4_0.gguf').toString('base64')));

/** Builds of onnxruntime-web as the engines name them. The wasm is compressed: hosts of pages refuse files above 20 MiB. */
for (const [name, module, wasm] of [
  ['wasm', 'ort.wasm.bundle.min.mjs', 'ort-wasm-simd-threaded.wasm'],
  ['jspi', 'ort.jspi.bundle.min.mjs', 'ort-wasm-simd-threaded.jspi.wasm'],
  ['asyncify', 'ort.webgpu.bundle.min.mjs', 'ort-wasm-simd-threaded.asyncify.wasm'],
]) {
  // A bundler that takes in files that it copies would look for the wasm beside it, which the engine brings.
  const code = readFileSync(join(ORT, module), 'utf8').replaceAll(
    /new URL\("(ort-wasm[^"]*)",/g,
    'new URL(String("$1"),',
  );
  writeFileSync(join(OUT, `ort.${name}.js`), code.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
  writeFileSync(join(OUT, `ort.${name}.wasm.gz`), gzipSync(readFileSync(join(ORT, wasm)), { level: 9 }));
}
writeElementTypes(OUT);
finishDeclarations(OUT, exportedDeclarations());
// What a report is checked against, for other tools: `tokenglass/report.schema.json`.
copyFileSync('docs/report.schema.json', join(OUT, 'report.schema.json'));
console.log(`Built ${OUT}/`);
