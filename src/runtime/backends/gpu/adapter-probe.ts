import { TokenglassError } from '../../../shared/errors.ts';
import type { AdapterInfo } from '../../../shared/info.ts';

/** What WebGPU offers here, before any device is made. */
export type GpuProbe =
  | { status: 'adapter'; adapter: GPUAdapter; info: AdapterInfo }
  | { status: 'insecure-context' | 'no-webgpu' | 'no-adapter'; reason: string };

export interface GpuEnvironment {
  /** The entry point of WebGPU. @default `navigator.gpu` */
  gpu?: GPU | undefined;
  /** @default `globalThis.isSecureContext` */
  isSecureContext?: boolean;
}

/** Asks for an adapter (the fast one, where there are two) and says what it is, or why there is none. Never throws. */
export async function probeGpu(environment: GpuEnvironment = {}): Promise<GpuProbe> {
  const own = (globalThis.navigator as Navigator | undefined)?.gpu;
  const gpu = 'gpu' in environment ? environment.gpu : own;
  if (!gpu) {
    // Browsers hide navigator.gpu from insecure pages, so the two look alike but for this.
    if ((environment.isSecureContext ?? globalThis.isSecureContext) as boolean | undefined)
      return { status: 'no-webgpu', reason: 'this browser has no WebGPU' };
    return {
      status: 'insecure-context',
      reason: 'the page is not served over https or from localhost, so there is no WebGPU',
    };
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter) return { status: 'no-adapter', reason: 'the browser has WebGPU but offers no GPU adapter' };
  return { status: 'adapter', adapter, info: describeAdapter(adapter) };
}

/** The adapter in plain data. */
export function describeAdapter(adapter: GPUAdapter): AdapterInfo {
  // `info` and `isFallbackAdapter` have moved between versions of browsers, so each may be missing.
  const info = adapter.info as Partial<GPUAdapterInfo> | undefined;
  const older = (adapter as { isFallbackAdapter?: boolean }).isFallbackAdapter;
  const architecture = info?.architecture ?? '';
  const description = [info?.description, info?.device, architecture, info?.vendor].find(Boolean) ?? 'unknown adapter';
  const software = /swiftshader|llvmpipe|lavapipe|basic render|warp\b/i.test(`${architecture} ${description}`);
  return {
    vendor: info?.vendor ?? '',
    architecture,
    description,
    isFallback: (info?.isFallbackAdapter ?? older ?? false) ? true : software,
    features: [...adapter.features].sort(),
  };
}

/** The error of a request for WebGPU where the probe found none. */
export function gpuError(probe: Exclude<GpuProbe, { status: 'adapter' }>): TokenglassError {
  const remedy = {
    'insecure-context': 'serve it over https, or take the engine onnx-wasm',
    'no-webgpu': 'use a recent Chrome, Edge, Safari or Firefox, or take the engine onnx-wasm',
    'no-adapter': 'check chrome://gpu or the drivers, or take the engine onnx-wasm',
  }[probe.status];
  return new TokenglassError(probe.status, `Cannot run on WebGPU: ${probe.reason}; ${remedy}`);
}
