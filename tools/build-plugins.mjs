// What the library build does to sources; the size budget measures the same.
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The file `x.dist.ts` that takes the place of `x.ts`; undefined where there is none. */
export function distVariantOf(path) {
  const variant = path.replace(/\.ts$/, '.dist.ts');
  return variant !== path && existsSync(variant) ? variant : undefined;
}

/** @type {import('esbuild').Plugin} */
export const distVariants = {
  name: 'dist-variants',
  setup({ onResolve }) {
    onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, resolveDir }) => {
      const variant = distVariantOf(join(resolveDir, path));
      return variant === undefined ? undefined : { path: variant };
    });
  },
};

/** A shader without comments and indents, which a page has no use for; directives stay, and lines keep their numbers. */
const shaderOf = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.replace(/\/\/(?!#).*$/, '').trim())
    .join('\n');

/** Shaders are texts: `./x.wgsl?raw`. @type {import('esbuild').Plugin} */
export const rawShaders = {
  name: 'raw-shaders',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({
      path: relative('.', join(resolveDir, path.slice(0, -4))).replaceAll('\\', '/'),
      namespace: 'raw',
    }));
    onLoad({ filter: /.*/, namespace: 'raw' }, ({ path }) => ({
      contents: shaderOf(path),
      loader: 'text',
    }));
  },
};

/** An engine over a peer of the page's does not run in the worker, which is one file. @type {import('esbuild').Plugin} */
export const withoutPeers = {
  name: 'without-peers',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/load-web-llm\.ts$/ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, namespace: 'no-peer' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'no-peer' }, () => ({
      contents: `export const loadWebLlm = () => Promise.reject(new TypeError('Cannot run web-llm in this worker'));`,
    }));
  },
};

/** Of everything that is bundled. */
export const COMMON_BUILD = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  platform: 'browser',
  legalComments: 'none',
  logLevel: 'warning',
  define: { 'process.env.NODE_ENV': '"production"' },
};

/** The worker: one file that imports nothing. */
export const WORKER_BUILD = { ...COMMON_BUILD, minify: true, plugins: [withoutPeers, distVariants, rawShaders] };
