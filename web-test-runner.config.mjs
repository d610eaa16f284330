import { esbuildPlugin } from '@web/dev-server-esbuild';
import { defaultReporter } from '@web/test-runner';
import { playwrightLauncher } from '@web/test-runner-playwright';
import { BASE_FLAGS, SOFTWARE_WEBGPU_FLAGS, ensureChromium } from './tools/chromium.mjs';
import { commonJsImports, withoutNodeImports } from './tools/commonjs-imports.mjs';
import { rawImports } from './tools/raw-imports.mjs';
import { countReporter } from './tools/count-reporter.mjs';
import { mlcFiles } from './tools/mlc-files.mjs';

/** Real Chromium, real IndexedDB, real workers, and WebGPU on the software adapter. */
export default {
  files: process.env.TEST_FILES ? process.env.TEST_FILES.split(',') : ['src/**/*.test.ts', '!src/**/*.node.test.ts'],
  nodeResolve: { exportConditions: ['browser', 'import', 'default'] },
  concurrency: Number(process.env.TEST_CONCURRENCY ?? 2),
  browsers: [
    playwrightLauncher({
      product: 'chromium',
      launchOptions: {
        executablePath: ensureChromium(),
        headless: true,
        args: ['--headless=new', ...BASE_FLAGS, ...SOFTWARE_WEBGPU_FLAGS],
      },
    }),
  ],
  plugins: [
    rawImports(),
    commonJsImports(['@vercel/oidc/dist/index-browser.js', 'ajv/dist/ajv.js']), // the first is of the AI SDK
    withoutNodeImports(['@mlc-ai/web-xgrammar/lib/index.js']),
    esbuildPlugin({ ts: true, target: 'es2022', tsconfig: 'tsconfig.json' }),
  ],
  mimeTypes: { '**/*.wasm': 'application/wasm' },
  // SharedArrayBuffer (threads of the WASM backend) needs a cross-origin isolated page.
  middleware: [
    (context, next) => {
      context.set('Cross-Origin-Opener-Policy', 'same-origin');
      context.set('Cross-Origin-Embedder-Policy', 'require-corp');
      context.set('Cross-Origin-Resource-Policy', 'same-origin');
      return next();
    },
    mlcFiles(),
  ],
  // Against what hangs, not what is slow: a software adapter on a loaded machine takes its time.
  testFramework: { config: { ui: 'bdd', timeout: 240_000 } },
  // A real model of web-llm takes its time on a software adapter.
  testsFinishTimeout: process.env.TOKENGLASS_MLC_MODEL ? 14_400_000 : 900_000,
  testsStartTimeout: 60_000,
  reporters: [defaultReporter({ reportTestResults: true, reportTestProgress: false }), countReporter()],
};
