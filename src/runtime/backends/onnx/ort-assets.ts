import { TokenglassError } from '../../../shared/errors.ts';
import { findOrtFiles } from './ort-files.ts';

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
   * URL of a folder with the files of `onnxruntime-web/dist` (version 1.30.0), for pages that host them themselves.
   * @default those that come with this package
   */
  ortBaseUrl?: string;
}

const FILES: Readonly<Record<OrtVariant, readonly [module: string, wasm: string]>> = {
  wasm: ['ort.wasm.bundle.min.mjs', 'ort-wasm-simd-threaded.wasm'],
  jspi: ['ort.jspi.bundle.min.mjs', 'ort-wasm-simd-threaded.jspi.wasm'],
  asyncify: ['ort.webgpu.bundle.min.mjs', 'ort-wasm-simd-threaded.asyncify.wasm'],
};

export async function ortUrls(variant: OrtVariant, { ortBaseUrl }: OrtAssets = {}): Promise<OrtUrls> {
  if (ortBaseUrl !== undefined) {
    const base = new URL(ortBaseUrl.endsWith('/') ? ortBaseUrl : `${ortBaseUrl}/`, pageUrl());
    const [module, wasm] = FILES[variant];
    return { module: new URL(module, base).href, wasm: new URL(wasm, base).href };
  }
  const [module, wasm] = await findOrtFiles(variant).catch((cause: unknown) => {
    throw notFound(variant, cause);
  });
  if (typeof module !== 'string' || typeof wasm !== 'string') throw notFound(variant);
  return { module, wasm };
}

function notFound(variant: OrtVariant, cause?: unknown): TokenglassError {
  const whatToDo =
    variant === 'wasm'
      ? 'say where its files are with assets.ortBaseUrl'
      : "import 'tokenglass/onnx' in the page, or say where its files are with assets.ortBaseUrl";
  const message = `Cannot find onnxruntime-web: this page was built without its files; ${whatToDo}`;
  return new TokenglassError('unsupported', message, cause === undefined ? {} : { cause });
}

/** JSPI where the browser has it. */
export function webGpuVariant(): OrtVariant {
  return 'Suspending' in WebAssembly ? 'jspi' : 'asyncify';
}

const pageUrl = (): string | undefined => (typeof location === 'undefined' ? undefined : location.href);
