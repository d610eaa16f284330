// Size budget per entry: JavaScript that a page fetches, minified and gzipped, before the first weight. Measured on what a page imports, with
// the dependencies that its bundler takes in.
//   node tools/bootstrap.mjs size
import { gzipSync } from 'node:zlib';
import { resolve } from 'node:path';
import { build as bundle } from 'esbuild';
import { build } from 'vite';
import { distVariantOf, WORKER_BUILD } from './build-plugins.mjs';

/** Loaded only by the engines that use them, which pay for them. */
const LAZY = /onnx|web-llm/;
const ENTRY = 'virtual:page';

/**
 * Budgets in kB (1000 bytes) of gzip. `code`: what the page says. `withDynamic`: what it imports later counts too. `together`: it counts for
 * what comes in all before the first weight of the engine webgpu.
 */
const ENTRIES = [
  {
    name: 'createEngine',
    code: "import { createEngine } from './src/index.ts'; createEngine();",
    budget: 10,
    together: true,
  },
  {
    name: 'the worker, one file: engine, tokenizer, WebGPU and CPU runtimes',
    workerFile: 'src/worker/engine.worker.ts',
    budget: 160,
    together: true,
  },
  {
    name: 'tokenglass/chat, before a text is shown',
    code: "import './src/ui/chat/chat.ts';",
    budget: 32,
    together: true,
  },
  { name: 'tokenglass/ui, before a text is shown', code: "import './src/ui/index.ts';", budget: 40 },
  {
    name: 'tokenglass/dashboard, charts with its first figures',
    code: "import './src/ui/dashboard/index.ts';",
    withDynamic: true,
    budget: 110,
  },
  { name: 'tokenglass/metrics', code: "export * from './src/runtime/metrics/index.ts';", budget: 22 },
];
const TOGETHER_BUDGET = 200;

const page = (code) => ({
  name: 'page',
  enforce: 'pre',
  resolveId(source, importer) {
    if (source === ENTRY) return ENTRY;
    if (importer === ENTRY) return resolve(source);
    return importer && /^\.{1,2}\/.*\.ts$/.test(source) ? distVariantOf(resolve(importer, '..', source)) : undefined;
  },
  load: (id) => (id === ENTRY ? code : undefined),
});

async function measure({ code, workerFile, withDynamic = false }) {
  if (workerFile) return measureWorker(workerFile);
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [page(code)],
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      modulePreload: false,
      assetsInlineLimit: 0,
      rolldownOptions: {
        input: ENTRY,
        preserveEntrySignatures: 'strict',
        external: [/web-xgrammar/, /@mlc-ai\/web-llm/, /embedded-/],
      },
    },
  });
  const chunks = new Map(result.output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));
  const entry = [...chunks.values()].find(({ isEntry }) => isEntry);
  const counted = new Set();
  const visit = (name) => {
    const chunk = chunks.get(name);
    if (!chunk || counted.has(name)) return;
    counted.add(name);
    const followed = withDynamic
      ? [...chunk.imports, ...chunk.dynamicImports.filter((path) => !LAZY.test(path))]
      : chunk.imports;
    for (const next of followed) visit(next);
  };
  visit(entry.fileName);
  return [...counted].reduce((sum, name) => sum + gzipSync(chunks.get(name).code, { level: 9 }).length, 0) / 1000;
}

/** The worker as it is published. */
async function measureWorker(entry) {
  const { outputFiles } = await bundle({ ...WORKER_BUILD, entryPoints: [entry], write: false });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length / 1000;
}

let over = 0;
function say(name, kilobytes, budget) {
  if (kilobytes > budget) over += 1;
  const verdict = kilobytes > budget ? 'OVER ' : 'ok   ';
  console.log(`${verdict} ${kilobytes.toFixed(1).padStart(6)} kB of ${budget} kB gzip  ${name}`);
}

let together = 0;
for (const entry of ENTRIES) {
  const kilobytes = await measure(entry);
  if (entry.together) together += kilobytes;
  say(entry.name, kilobytes, entry.budget);
}
say('in all before the first weight of webgpu', together, TOGETHER_BUDGET);
process.exitCode = over ? 1 : 0;
