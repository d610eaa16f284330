import type { EngineName } from '../shared/engines.ts';
import { TokenglassError } from '../shared/errors.ts';
import type { PartName, PartUrls } from '../shared/parts.ts';
import type { ShareWorkers } from './share/membership.ts';

/*
 * Where workers and parts are, for the library as it is published. Bundlers carry along the file of each literal `new URL('...',
 * import.meta.url)` that is no argument of `new Worker`: they copy it as it is, under a name of their own. Those that know nothing of the
 * pattern (esbuild, Rollup, and the pre-bundling of development servers) leave the literal as it stands, where no file is: the worker and
 * the built-in model then come as modules, which every bundler carries.
 */
const FILES = {
  worker: ['engine.worker.js', () => new URL('./engine.worker.js', import.meta.url)],
  grammar: ['grammar.js', () => new URL('./grammar.js', import.meta.url)],
  onnx: ['onnx-part.js', () => new URL('./onnx-part.js', import.meta.url)],
  'ort/wasm.js': ['ort.wasm.js', () => new URL('./ort.wasm.js', import.meta.url)],
  'ort/wasm.wasm': ['ort.wasm.wasm.gz', () => new URL('./ort.wasm.wasm.gz', import.meta.url)],
  'tutor/tutor.q4_0.gguf': ['tutor.q4_0.gguf', () => new URL('../models/tutor/tutor.q4_0.gguf', import.meta.url)],
  'tutor/onnx/model_q4.onnx': ['model_q4.onnx', () => new URL('../models/tutor/onnx/model_q4.onnx', import.meta.url)],
  'tutor/config.json': ['config.json', () => new URL('../models/tutor/config.json', import.meta.url)],
  'tutor/generation_config.json': [
    'generation_config.json',
    () => new URL('../models/tutor/generation_config.json', import.meta.url),
  ],
  'tutor/tokenizer.json': ['tokenizer.json', () => new URL('../models/tutor/tokenizer.json', import.meta.url)],
  'tutor/tokenizer_config.json': [
    'tokenizer_config.json',
    () => new URL('../models/tutor/tokenizer_config.json', import.meta.url),
  ],
} as const satisfies Partial<Record<PartName | 'worker', readonly [file: string, locate: () => URL]>>;

/** Names of the published modules that hold this code: under one of them, a literal is true as it stands. */
const OWN_MODULES = /^(?:locate|cdn(?:-[A-Z0-9]+)?)\.js$/;

/** What paths from the root of a page are relative to; undefined in Node. */
const pageUrl = (): string | undefined => (typeof location === 'undefined' ? undefined : location.href);

const fileOf = (url: URL): string => url.pathname.split('/').at(-1) ?? '';

/** Where a file is; undefined if the bundler did not carry it along. */
function locate(part: keyof typeof FILES): URL | undefined {
  const [file, urlOf] = FILES[part];
  try {
    // Turbopack gives a path from the root of the page.
    const url = new URL(urlOf(), pageUrl());
    const isLiteral = url.protocol !== 'data:' && fileOf(url) === file;
    return isLiteral && !OWN_MODULES.test(fileOf(new URL(import.meta.url))) ? undefined : url;
  } catch {
    return undefined; // a format without `import.meta`
  }
}

/** URLs of the parts that this build carries. */
export async function locateParts(): Promise<PartUrls> {
  const found: Record<string, string> = {};
  for (const part of Object.keys(FILES) as (keyof typeof FILES)[]) {
    const url = part === 'worker' ? undefined : locate(part);
    if (url) found[part] = url.href;
  }
  if (!found['tutor/tutor.q4_0.gguf']) {
    const { default: base64 } = await import('./embedded-tutor.js');
    found['tutor/tutor.q4_0.gguf'] = `data:application/octet-stream;base64,${base64}`;
  }
  return found;
}

const isForeign = ({ protocol, origin }: URL): boolean => protocol === 'data:' || origin !== globalThis.location.origin;

/** Why workers of this library cannot be shared between pages; undefined where they can. */
export function locateObstacle(): string | undefined {
  const url = locate('worker');
  if (!url) return 'the build of this page carries no file for the worker';
  return isForeign(url) ? 'this library comes from another origin than the page' : undefined;
}

/** A worker may only be started from the page's own origin: one of another is imported by a script that the page makes. */
export async function startEngineWorker(): Promise<Worker> {
  const url = locate('worker');
  if (url && !isForeign(url)) return start(url.href, 'tokenglass');
  const source = url ? `import ${JSON.stringify(url.href)};` : (await import('./embedded-worker.js')).default;
  // In a sandboxed frame, Chromium (156) runs no module worker from a blob, but from a data URL.
  if (globalThis.origin === 'null') return start(`data:text/javascript,${encodeURIComponent(source)}`, 'tokenglass');
  const blob = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const worker = start(blob, 'tokenglass');
  // The address is needed until the script is fetched, of which there is no event: the first message comes after it.
  const release = (): void => URL.revokeObjectURL(blob);
  worker.addEventListener('message', release, { once: true });
  worker.addEventListener('error', release, { once: true });
  return worker;
}

/** A peer of the page's, which a worker of one file cannot import. */
export const runsInPage = (engine: EngineName): boolean => engine === 'web-llm';

export const shareWorkers: ShareWorkers = {
  connect: (name) => new SharedWorker(trusted(ownWorker()), { type: 'module', name }),
  startHost: () => start(ownWorker(), 'tokenglass-host'),
};

function ownWorker(): string {
  const obstacle = locateObstacle();
  if (obstacle !== undefined) throw new TokenglassError('unsupported', `Cannot share an engine: ${obstacle}`);
  return locate('worker')!.href;
}

const start = (url: string, name: string): Worker => new Worker(trusted(url), { type: 'module', name });

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

/** Where a page demands Trusted Types, its `trusted-types` must name the policy `tokenglass` (docs/csp.md). */
function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (!trustedTypes) return url;
  policy ??= trustedTypes.createPolicy('tokenglass', { createScriptURL: (own) => own });
  return policy.createScriptURL(url);
}
