import type { OrtVariant } from './ort-assets.ts';

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

/**
 * URLs of the module and the wasm of a build of onnxruntime-web; no texts where a bundler ignores the `?url` and gives the module itself.
 * The library build takes `ort-files.dist.ts` in the place of this file.
 */
export async function findOrtFiles(variant: OrtVariant): Promise<readonly [module: unknown, wasm: unknown]> {
  const [module, wasm] = await IMPORTS[variant]();
  return [absolute(module.default), absolute(wasm.default)];
}

/** Bundlers give URLs from the root of the page or relative to the module that asks. */
const absolute = (url: unknown): unknown => (typeof url === 'string' ? new URL(url, import.meta.url).href : url);
