import { TokenglassError } from '../../../shared/errors.ts';
import type { DeviceGuard } from './device-guard.ts';
import type { OrtRuntime } from './ort-runtime.ts';

/** What onnxruntime-web's kernels use where a device has it. */
const FEATURES: readonly GPUFeatureName[] = ['shader-f16'];

/** `subgroup-size-control` is not in every browser's list of names yet. */
const SUBGROUP_FEATURES = ['subgroups', 'subgroup-size-control'] as readonly GPUFeatureName[];

/** Asked for exactly as the adapter has them. */
const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupSizeZ',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupsPerDimension',
] as const;

/**
 * False where onnxruntime-web is known to compute wrongly with subgroups: its kernels of 1.30 for many rows assume that a subgroup has
 * at least 8 lanes, and give nonsense from 32 prefilled tokens on where it has 4 (SwiftShader, seen in Chromium 156). To be deleted when a
 * release passes `checkPrefill` there.
 */
export function hasRightSubgroups(adapter: GPUAdapter): boolean {
  if (!adapter.features.has('subgroups')) return false;
  // A browser that does not tell gets the benefit of the doubt; the known prompt decides.
  const lanes = (adapter.info as Partial<GPUAdapterInfo>).subgroupMinSize ?? 8;
  return lanes >= 8;
}

/** A device for onnxruntime-web. @throws TokenglassError `device-lost` if the adapter gives none */
export async function requestOrtDevice(
  adapter: GPUAdapter,
  { withSubgroups }: { withSubgroups: boolean },
): Promise<GPUDevice> {
  const wanted = withSubgroups ? [...FEATURES, ...SUBGROUP_FEATURES] : FEATURES;
  const requiredLimits: Record<string, number> = {};
  for (const name of LIMITS) {
    const value = adapter.limits[name] as number | undefined;
    if (value !== undefined) requiredLimits[name] = value;
  }
  try {
    return await adapter.requestDevice({
      label: 'tokenglass onnx',
      requiredFeatures: wanted.filter((name) => adapter.features.has(name)),
      requiredLimits,
    });
  } catch (cause) {
    const message = 'Cannot run on WebGPU: the adapter gave no device; reload the page, or take the engine onnx-wasm';
    throw new TokenglassError('device-lost', message, { cause });
  }
}

/** Tells the guard when the device is lost; `destroy` by us is no loss. */
export function watchDevice(device: GPUDevice, guard: DeviceGuard, runtime: OrtRuntime): void {
  void device.lost.then(({ reason, message: why }) => {
    if (guard.isReleased) return;
    const message = `Cannot go on: the GPU device was lost (${why || reason}); load the model again`;
    guard.lose(new TokenglassError('device-lost', message, { details: { reason } }));
    // A run after a loss never returns (1.30), so the next load gets another instance.
    runtime.retire();
  });
  device.addEventListener('uncapturederror', ({ error }) => {
    if (typeof GPUOutOfMemoryError === 'undefined' || !(error instanceof GPUOutOfMemoryError)) return;
    const message = 'Cannot go on: the GPU is out of memory; take a smaller model or context';
    guard.lose(new TokenglassError('model-too-large', message, { details: { message: error.message } }));
  });
}
