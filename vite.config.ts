import { defineConfig } from 'vite';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageParts } from './demo/page-parts.ts';

/** Every HTML page of the demo is an entry. */
function pages(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'fixtures' ? [] : pages(path);
    return entry.name.endsWith('.html') ? [path] : [];
  });
}

/** SharedArrayBuffer, and so the threads of the WASM backend, needs a cross-origin isolated page. */
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as { version: string };

/** The demo: multi-page, relative URLs, so that it can be served from any folder. */
export default defineConfig({
  root: 'demo',
  base: './',
  publicDir: false,
  plugins: [pageParts()],
  define: { __TOKENGLASS_VERSION__: JSON.stringify(version) },
  server: { headers, host: '127.0.0.1', fs: { allow: ['..'] } },
  preview: { headers, host: '127.0.0.1' },
  worker: { format: 'es' },
  // Pre-bundled dependencies lose `import.meta.url`, by which onnxruntime-web finds its wasm.
  optimizeDeps: { exclude: ['onnxruntime-web', '@huggingface/transformers', '@wllama/wllama'] },
  assetsInclude: ['**/*.gguf', '**/*.onnx'],
  build: {
    outDir: '../dist-demo',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 8000, // libraries that are raced or asked for, each fetched when it is
    rolldownOptions: { checks: { bundlerTimings: false }, input: pages(join(import.meta.dirname, 'demo')) },
  },
});
