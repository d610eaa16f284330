// `npm run bench -- --runtime node`: our WebGPU runtime in Node, on the machine's own GPU (npm package `webgpu`, which is Dawn). On a machine
// without one, VK_ICD_FILENAMES may name a software driver.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { arch, cpus, platform, release } from 'node:os';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { serveFolder } from './server.mjs';

const { version } = createRequire(import.meta.url)('../package.json');

/** The bench code is TypeScript with shaders beside it: bundled for Node as it is for a page. */
async function bundle() {
  const outDir = '.cache/bench-node';
  await build({
    configFile: false,
    logLevel: 'error',
    define: { __TOKENGLASS_VERSION__: JSON.stringify(version) },
    ssr: { noExternal: true },
    build: {
      ssr: 'demo/bench/node.ts',
      outDir,
      emptyOutDir: true,
      target: 'node20',
      rolldownOptions: { external: [/^onnxruntime-web/] },
    },
  });
  return import(pathToFileURL(resolve(outDir, 'node.js')).href);
}

/** @returns {Promise<{ report: object, table: string }>} */
export async function benchInNode(asked, model, hooks) {
  if (asked.engines.some((name) => name !== 'webgpu' && name !== 'auto'))
    throw new Error('Cannot run in Node: only the engine webgpu does; leave out --engine, or leave out --runtime node');
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  const gpu = create([]);
  // Node 20 has no navigator; reports name what they were made on by it.
  if (globalThis.navigator === undefined) {
    const userAgent = `Node.js/${process.versions.node} (${platform()} ${release()}; ${arch()})`;
    Object.defineProperty(globalThis, 'navigator', { value: { userAgent, hardwareConcurrency: cpus().length } });
  }
  const server = await serveFolder('models/tutor', { mounts: model.mounts });
  try {
    const bench = await bundle();
    return await bench.benchInNode({ ...asked, model: model.url(server.url), tutorBaseUrl: server.url }, gpu, hooks);
  } finally {
    await server.close();
  }
}
