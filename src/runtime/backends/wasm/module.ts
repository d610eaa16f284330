import { TokenglassError } from '../../../shared/errors.ts';
import { buildKernels, type KernelExports } from './kernels/build.ts';
import type { KernelOptions } from './kernels/operation.ts';

export type SimdLevel = 'relaxed' | 'plain';

/**
 * The best SIMD that this browser takes.
 * @throws TokenglassError `missing-feature` where it takes none
 */
export function findSimd(isShared: boolean): SimdLevel {
  for (const isRelaxed of [true, false])
    if (WebAssembly.validate(buildKernels({ isRelaxed, isShared, mayBlock: true })))
      return isRelaxed ? 'relaxed' : 'plain';
  throw new TokenglassError(
    'missing-feature',
    'Cannot run on the CPU: this browser has no WebAssembly SIMD; take a newer one',
    { details: { feature: 'wasm-simd' } },
  );
}

/** Threads can share memory here: the page is cross-origin isolated, or there is no page. */
export const canShareMemory = (): boolean =>
  typeof SharedArrayBuffer === 'function' &&
  (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated !== false;

/** Compiles the kernels and binds them to a memory. */
export async function instantiate(options: KernelOptions, memory: WebAssembly.Memory): Promise<KernelExports> {
  const { instance } = await WebAssembly.instantiate(buildKernels(options), { env: { memory } });
  return instance.exports as unknown as KernelExports;
}

/** @throws TokenglassError `model-too-large` where the browser does not give so much */
export function createMemory(bytes: number, isShared: boolean, model: string): WebAssembly.Memory {
  const pages = bytes / 65_536;
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: isShared });
  } catch (cause) {
    throw new TokenglassError(
      'model-too-large',
      `Cannot load ${model}: this browser does not give ${Math.ceil(bytes / 1e6)} MB of memory; take a smaller model or context`,
      { cause, details: { model, neededBytes: bytes } },
    );
  }
}
