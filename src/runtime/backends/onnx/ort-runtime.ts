import type * as Ort from 'onnxruntime-web';
import { TokenglassError } from '../../../shared/errors.ts';
import { ortUrls, type OrtAssets, type OrtVariant } from './ort-assets.ts';

export type OrtModule = typeof Ort;

export interface OrtRuntimeOptions extends OrtAssets {
  variant: OrtVariant;
  /** Threads of the WASM kernels. @default 1 without cross-origin isolation, else at most 4 and at most the processors there are */
  threads?: number;
}

/**
 * One instance of onnxruntime-web. All work in it is done one after the other: two `run()` at the same time on WebGPU never return
 * (1.30), nor may sessions be made at the same time.
 */
export class OrtRuntime {
  readonly ort: OrtModule;
  readonly variant: OrtVariant;
  readonly threads: number;
  readonly #forget: () => void;
  readonly #backends = new Set<(error: Error) => void>();
  #tail: Promise<unknown> = Promise.resolve();

  constructor(ort: OrtModule, variant: OrtVariant, threads: number, forget: () => void = () => undefined) {
    this.ort = ort;
    this.variant = variant;
    this.threads = threads;
    this.#forget = forget;
  }

  /** Runs `work` when all work given before has ended. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** The next load gets another instance. (This one's memory is given back only when the worker ends.) */
  retire(): void {
    this.#forget();
  }

  /** Calls `listener` if this instance gets stuck, until the returned function is called. */
  onStuck(listener: (error: Error) => void): () => void {
    this.#backends.add(listener);
    return () => this.#backends.delete(listener);
  }

  /** A device call will never come back, so nothing that waits in this instance will: all of it learns the error. */
  declareStuck(error: Error): void {
    this.retire();
    for (const tell of this.#backends) tell(error);
  }
}

/** Loaded instances, and those being loaded, by build, threads and place. */
const runtimes = new Map<string, Promise<OrtRuntime>>();
let instances = 0;

/** The instance for this build; loaded on first use, and again if it was abandoned or its load failed. */
export function loadOrtRuntime(options: OrtRuntimeOptions): Promise<OrtRuntime> {
  const threads = options.threads ?? defaultThreads();
  const key = `${options.variant} ${threads} ${options.ortBaseUrl ?? ''}`;
  const known = runtimes.get(key);
  if (known) return known;
  const forget = (): void => {
    if (runtimes.get(key) === loading) runtimes.delete(key);
  };
  const loading = importRuntime(options, threads, forget).catch((error: unknown) => {
    forget();
    throw error;
  });
  runtimes.set(key, loading);
  return loading;
}

/** Beyond four threads the matrices of a decode step are too small to be split further. */
export function defaultThreads(): number {
  if (!globalThis.crossOriginIsolated) return 1;
  return Math.max(1, Math.min(4, navigator.hardwareConcurrency));
}

async function importRuntime(options: OrtRuntimeOptions, threads: number, forget: () => void): Promise<OrtRuntime> {
  const urls = await ortUrls(options.variant, options);
  try {
    // The module is a singleton by its URL; a fragment makes it another one, which neither server nor cache sees.
    const ort = (await import(/* @vite-ignore */ `${urls.module}#${instances++}`)) as OrtModule;
    // Threads start as workers from the module's URL, which a page may do on its own origin only.
    const usable = new URL(urls.module).origin === globalThis.location.origin ? threads : 1;
    ort.env.wasm.numThreads = usable;
    if (urls.wasm.endsWith('.gz')) ort.env.wasm.wasmBinary = await unpacked(urls.wasm);
    else ort.env.wasm.wasmPaths = { wasm: urls.wasm };
    ort.env.logLevel = 'error';
    await startWasm(ort);
    return new OrtRuntime(ort, options.variant, usable, forget);
  } catch (cause) {
    const message = `Cannot load onnxruntime-web from ${urls.module} and ${urls.wasm}; serve these files, or say where they are with assets.ortBaseUrl`;
    throw new TokenglassError('network', message, { cause, details: { ...urls } });
  }
}

/** The bytes of a compressed wasm, which is a quarter as large to deploy; a server may have unpacked it on the way. */
async function unpacked(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) throw new TypeError(`The server answered HTTP ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.buffer;
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

/** An ONNX model of one Identity node (written by testing/onnx-writer.ts). */
const IDENTITY_MODEL =
  'CAg6PQoTCgF4EgF5GgF5IghJZGVudGl0eRIEdGVzdFoPCgF4EgoKCAgBEgQKAggBYg8KAXkSCgoICAESBAoCCAFCBAoAEBJCEQoNY29tLm1pY3Jvc29mdBAB';

/** Fetches and compiles the wasm now, while weights are still on their way: onnxruntime-web does it with the first session. */
async function startWasm(ort: OrtModule): Promise<void> {
  const model = Uint8Array.from(atob(IDENTITY_MODEL), (char) => char.charCodeAt(0));
  const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] });
  await session.release();
}
