// The consumers: what each installs besides the package, its files, how it builds, and where the built page is.
import { APP, html } from './page.mjs';

const viteConfig = `export default { base: '/app/' };\n`;

const vite = (version) => ({
  dependencies: { vite: version },
  files: {
    'vite.config.js': viteConfig,
    'index.html': html('<script type="module" src="/app.js"></script>'),
    'app.js': APP,
  },
  build: ['vite', 'build'],
  output: 'dist',
});

const NEXT_FILES = {
  'next.config.mjs': `export default { output: 'export', basePath: '/app', trailingSlash: true };\n`,
  'app/layout.js': `export const metadata = { title: 'A page', icons: { icon: 'data:,' } };
export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}
`,
  'app/page.js': `'use client';
import { useEffect } from 'react';
export default function Page() {
  useEffect(() => { import('./ask.js'); }, []);
  return <main>A page</main>;
}
`,
  'app/ask.js': APP,
};
const NEXT = { next: '16', react: '19', 'react-dom': '19' };

/**
 * What the build carries besides the code: `all` files; `modules`, files of which Parcel makes modules of its own, so that ONNX is not there;
 * `none`, so that what comes by URL only (ONNX, grammars) is not there.
 *
 * @typedef {{ dependencies?: Record<string, string>, files: Record<string, string>, build?: string[], output: string, csp?: string, foreign?: boolean, carries?: 'all' | 'modules' | 'none' | 'insecure', sandbox?: boolean, host?: string }} Consumer
 */

/** `carries: 'none'`: the bundler copies no files, so what comes by URL only (ONNX, grammars) is not there. @type {Record<string, Consumer>} */
export const CONSUMERS = {
  'vite-5': vite('5'),
  'vite-6': vite('6'),
  'vite-7': vite('7'),
  'vite-8': vite('8'),
  webpack: {
    dependencies: { webpack: '5', 'webpack-cli': '6' },
    files: {
      'webpack.config.cjs': `module.exports = {
  mode: 'production', entry: './app.js', performance: { hints: false },
  output: { path: __dirname + '/dist', publicPath: '/app/', filename: 'app.js' },
};\n`,
      'app.js': APP,
      'dist/index.html': html('<script src="/app/app.js"></script>'),
    },
    build: ['webpack'],
    output: 'dist',
  },
  'next-turbopack': { dependencies: NEXT, files: NEXT_FILES, build: ['next', 'build', '--turbopack'], output: 'out' },
  'next-webpack': { dependencies: NEXT, files: NEXT_FILES, build: ['next', 'build', '--webpack'], output: 'out' },
  esbuild: {
    dependencies: { esbuild: '0.28' },
    files: { 'app.js': APP, 'dist/index.html': html('<script type="module" src="app.js"></script>') },
    build: ['esbuild', 'app.js', '--bundle', '--format=esm', '--splitting', '--minify', '--outdir=dist'],
    output: 'dist',
    carries: 'none',
  },
  'esbuild-one-file': {
    dependencies: { esbuild: '0.28' },
    files: { 'app.js': APP, 'dist/index.html': html('<script src="app.js"></script>') },
    build: ['esbuild', 'app.js', '--bundle', '--minify', '--log-override:empty-import-meta=silent', '--outdir=dist'],
    output: 'dist',
    carries: 'none',
  },
  rollup: {
    dependencies: { rollup: '4', '@rollup/plugin-node-resolve': '16', '@rollup/plugin-commonjs': '29' },
    files: {
      'rollup.config.mjs': `import resolve from '@rollup/plugin-node-resolve';
import commonjs from '@rollup/plugin-commonjs';
export default { input: 'app.js', output: { dir: 'dist', format: 'es' }, plugins: [resolve({ browser: true }), commonjs()] };\n`,
      'app.js': APP,
      'dist/index.html': html('<script type="module" src="app.js"></script>'),
    },
    build: ['rollup', '-c'],
    output: 'dist',
    carries: 'none',
  },
  parcel: {
    dependencies: { parcel: '2' },
    files: {
      'package.json': JSON.stringify({ private: true, '@parcel/resolver-default': { packageExports: true } }),
      'index.html': html('<script type="module" src="./app.js"></script>'),
      'app.js': APP,
    },
    build: ['parcel', 'build', 'index.html', '--public-url', '/app/', '--no-source-maps'],
    output: 'dist',
    carries: 'modules',
  },
  nuxt: {
    dependencies: { nuxt: '4', vue: '3' },
    files: {
      'nuxt.config.js': `export default defineNuxtConfig({
  ssr: false, app: { baseURL: '/app/', head: { link: [{ rel: 'icon', href: 'data:,' }] } },
  vue: { compilerOptions: { isCustomElement: (tag) => tag.startsWith('tg-') } },
  telemetry: false,
});\n`,
      'app/app.vue': `<script setup>onMounted(() => import('./ask.js'));</script><template><main>A page</main></template>\n`,
      'app/ask.js': APP,
    },
    build: ['nuxt', 'generate'],
    output: '.output/public',
  },
  astro: {
    dependencies: { astro: '5' },
    files: {
      'astro.config.mjs': `export default { base: '/app/' };\n`,
      'src/pages/index.astro': `---\n---\n${html("<script>import '../ask.js';</script>")}`,
      'src/ask.js': APP,
    },
    build: ['astro', 'build'],
    output: 'dist',
  },
  sveltekit: {
    dependencies: {
      '@sveltejs/kit': '2',
      '@sveltejs/adapter-static': '3',
      '@sveltejs/vite-plugin-svelte': '6',
      svelte: '5',
      vite: '7',
    },
    files: {
      'vite.config.js': `import { sveltekit } from '@sveltejs/kit/vite';\nexport default { plugins: [sveltekit()] };\n`,
      'svelte.config.js': `import adapter from '@sveltejs/adapter-static';
export default { kit: { adapter: adapter({ fallback: 'index.html' }), paths: { base: '/app' } } };\n`,
      'src/app.html': `<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">%sveltekit.head%</head><body><div>%sveltekit.body%</div></body></html>\n`,
      'src/routes/+page.svelte': `<script>import { onMount } from 'svelte'; onMount(() => { import('../ask.js'); });</script><main>A page</main>\n`,
      'src/routes/+layout.js': `export const prerender = true;\nexport const ssr = false;\n`,
      'src/ask.js': APP,
    },
    build: ['vite', 'build'],
    output: 'build',
  },
  html: {
    files: {
      'dist/index.html': html(
        `<script type="module">${APP.replace("from 'tokenglass'", "from 'LIBRARY/dist/cdn.js'").replace("import 'tokenglass/ui';\n", '')}</script>`,
      ),
    },
    output: 'dist',
    foreign: true,
  },
  'html-sandboxed': {
    files: {
      'dist/index.html': html(
        `<script type="module">${APP.replace("from 'tokenglass'", "from 'LIBRARY/dist/cdn.js'").replace("import 'tokenglass/ui';\n", '')}</script>`,
      ),
    },
    output: 'dist',
    foreign: true,
    sandbox: true,
  },
  /** No localhost and no https: no WebGPU, no locks, no `crypto.randomUUID`. */
  insecure: {
    files: {
      'dist/index.html': html(
        `<script type="module">${APP.replace("from 'tokenglass'", "from 'LIBRARY/dist/cdn.js'").replace("import 'tokenglass/ui';\n", '')}</script>`,
      ),
    },
    output: 'dist',
    foreign: true,
    carries: 'insecure',
    host: 'insecure.test',
  },
  'strict-csp': {
    ...vite('7'),
    csp: "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; style-src 'self'; img-src 'self' data:; require-trusted-types-for 'script'; trusted-types tokenglass lit-html dompurify",
  },
};

/** Those that CI builds. */
export const FAST = [
  'vite-5',
  'vite-7',
  'vite-8',
  'webpack',
  'next-turbopack',
  'esbuild',
  'html',
  'insecure',
  'strict-csp',
];
