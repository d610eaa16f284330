import { TokenglassError } from '../../../shared/errors.ts';

/**
 * Builds of onnxruntime-web. `wasm`: CPU only. `jspi` and `asyncify`: WebGPU, by the way they wait for the GPU in the middle of WASM code;
 * JSPI is smaller and faster, and not in every browser.
 */
export type OrtVariant = 'wasm' | 'jspi' | 'asyncify';

/** Absolute URLs of one build. */
export interface OrtUrls {
  /** The module to import; it brings its own loader of the wasm, which also is the script of the threads. */
  module: string;
  wasm: string;
}

export interface OrtAssets {
  /**
   * URL of a folder with the files of `onnxruntime-web/dist` (version 1.30.0), for pages whose bundler does not know `?url` imports.
   * @default found by the bundler in the package onnxruntime-web
   */
  ortBaseUrl?: string;
}

const FILES: Readonly<Record<OrtVariant, readonly [module: string, wasm: string]>> = {
  wasm: ['ort.wasm.bundle.min.mjs', 'ort-wasm-simd-threaded.wasm'],
  jspi: ['ort.jspi.bundle.min.mjs', 'ort-wasm-simd-threaded.jspi.wasm'],
  asyncify: ['ort.webgpu.bundle.min.mjs', 'ort-wasm-simd-threaded.asyncify.wasm'],
};

/**
 * Imported by `?url`, so that only the build that is used is ever fetched, and so that the module is served as it is: a bundler that took it
 * in would break the threads (which start from the module's own URL) and copy the wasm a second time.
 */
const IMPORTS: Readonly<Record<OrtVariant, () => Promise<readonly [{ default: unknown }, { default: unknown }]>>> = {
  wasm: () =>
    Promise.all([import('onnxruntime-web/wasm?url'), import('onnxruntime-web/ort-wasm-simd-threaded.wasm?url')]),
  jspi: () =>
    Promise.all([import('onnxruntime-web/jspi?url'), import('onnxruntime-web/ort-wasm-simd-threaded.jspi.wasm?url')]),
  asyncify: () =>
    Promise.all([
      import('onnxruntime-web/webgpu?url'),
      import('onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm?url'),
    ]),
};

export async function ortUrls(variant: OrtVariant, { ortBaseUrl }: OrtAssets = {}): Promise<OrtUrls> {
  if (ortBaseUrl !== undefined) {
    const base = new URL(ortBaseUrl.endsWith('/') ? ortBaseUrl : `${ortBaseUrl}/`, pageUrl());
    const [module, wasm] = FILES[variant];
    return { module: new URL(module, base).href, wasm: new URL(wasm, base).href };
  }
  const [module, wasm] = await IMPORTS[variant]().catch((cause: unknown) => {
    throw unknownToBundler(cause);
  });
  if (typeof module.default !== 'string' || typeof wasm.default !== 'string') throw unknownToBundler();
  return { module: absolute(module.default), wasm: absolute(wasm.default) };
}

/** A bundler that ignores the `?url` gives the module itself, and a page without one cannot resolve the name. */
function unknownToBundler(cause?: unknown): TokenglassError {
  const message =
    'Cannot find onnxruntime-web: this page was built without support for "?url" imports; say where its files are with assets.ortBaseUrl';
  return new TokenglassError('unsupported', message, cause === undefined ? {} : { cause });
}

/** JSPI where the browser has it. */
export function webGpuVariant(): OrtVariant {
  return 'Suspending' in WebAssembly ? 'jspi' : 'asyncify';
}

/** Bundlers give URLs from the root of the page or relative to the module that asks. */
const absolute = (url: string): string => new URL(url, import.meta.url).href;

const pageUrl = (): string | undefined => (typeof location === 'undefined' ? undefined : location.href);
