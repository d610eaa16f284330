// Size budget per entry: JavaScript a page fetches, minified and gzipped, before the first weight.
//   node tools/bootstrap.mjs size
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

/** Chunks of these packages are loaded only by the engines that use them, which pay for them. */
const LAZY = /onnx|web-llm/;

/** Budgets in kB (1000 bytes) of gzip. `parts` says which dynamic imports are counted in. */
const ENTRIES = [
  { name: 'tokenglass (page side, engine in a worker)', input: 'src/worker/client.ts', budget: 12 },
  {
    name: 'worker with the WebGPU runtime, engine and tokenizer',
    input: 'src/worker/engine.worker.ts',
    withDynamic: true,
    budget: 150,
  },
  { name: 'tokenglass/ui', input: 'src/ui/index.ts', budget: 75 },
  {
    name: 'tokenglass/dashboard, charts with its first figures',
    input: 'src/ui/dashboard/index.ts',
    withDynamic: true,
    budget: 110,
  },
  { name: 'tokenglass/metrics', input: 'src/runtime/metrics/index.ts', budget: 22 },
];

async function measure({ input, withDynamic = false }) {
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      modulePreload: false,
      assetsInlineLimit: 0,
      rolldownOptions: {
        input,
        preserveEntrySignatures: 'strict',
        external: [/onnxruntime-web/, /web-xgrammar/, /@mlc-ai\/web-llm/],
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

let over = 0;
for (const entry of ENTRIES) {
  const kilobytes = await measure(entry);
  if (kilobytes > entry.budget) over += 1;
  console.log(
    `${kilobytes > entry.budget ? 'OVER ' : 'ok   '} ${kilobytes.toFixed(1).padStart(6)} kB of ${entry.budget} kB gzip  ${entry.name}`,
  );
}
process.exitCode = over ? 1 : 0;
