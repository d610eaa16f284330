import { TokenglassError } from '../../../shared/errors.ts';
import type { AdapterInfo } from '../../../shared/info.ts';
import { GpuMemory } from './memory.ts';
import { Watchdog, type WatchdogOptions } from './watchdog.ts';

export interface GpuDeviceOptions {
  /** Where adapters come from. @default `navigator.gpu` */
  gpu?: GPU;
  /** Refuse a software adapter. @default false */
  requireHardware?: boolean;
  /** Leave these features off although the adapter has them (tests of the plain variants). @default none */
  withoutFeatures?: readonly string[];
  /** When a device that does not answer is taken for dead. */
  watchdog?: WatchdogOptions;
}

/** What kernels may use on this device. */
export interface GpuAbilities {
  /** Sizes that subgroups may have; absent without the feature. */
  subgroups?: { min: number; max: number };
  shaderF16: boolean;
  timestamps: boolean;
  /** `unpack4xU8` and friends: the WGSL language feature `packed_4x8_integer_dot_product`. */
  packed4x8: boolean;
  /** Inner loops are written out: for hardware. Software adapters compile such code slowly and run it no faster. */
  unroll: boolean;
}

/** A device with its ledger of memory. Whoever holds it owns `device.lost`. */
export interface GpuContext {
  readonly device: GPUDevice;
  readonly adapter: AdapterInfo;
  readonly abilities: GpuAbilities;
  readonly memory: GpuMemory;
  /** Everything that waits for the device does so under it. */
  readonly watchdog: Watchdog;
  /** Resolves, once, when the device was lost for a reason other than `destroy`, reported an error that nobody caught, or hung. */
  readonly lost: Promise<TokenglassError>;
  /** Frees all buffers and the device. Calling it twice is safe. */
  destroy(): void;
}

const WANTED_FEATURES = ['subgroups', 'shader-f16', 'timestamp-query'] as const;

/**
 * Takes an adapter and a device with all of the adapter's limits and those of its features that kernels use.
 *
 * @throws TokenglassError `insecure-context`, `no-webgpu`, `no-adapter`, `fallback-adapter`, `device-lost`
 */
export async function acquireDevice(options: GpuDeviceOptions = {}): Promise<GpuContext> {
  const gpu = options.gpu ?? navigatorGpu();
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) {
    throw new TokenglassError(
      'no-adapter',
      'Cannot use WebGPU: the browser offers no adapter; update the graphics driver or turn on hardware acceleration',
    );
  }
  const info = describeAdapter(adapter);
  if (options.requireHardware === true && info.isFallback) {
    throw new TokenglassError(
      'fallback-adapter',
      `Cannot use WebGPU: ${info.description} is a software adapter; turn on hardware acceleration`,
      { details: { adapter: info.description } },
    );
  }
  const without = new Set(options.withoutFeatures);
  const requiredFeatures = WANTED_FEATURES.filter((name) => adapter.features.has(name) && !without.has(name));
  const device = await requestDevice(adapter, requiredFeatures);
  return wrap(device, gpu, adapter, info, without, options.watchdog);
}

function navigatorGpu(): GPU {
  const scope = globalThis as { isSecureContext?: boolean; navigator?: { gpu?: GPU } };
  if (scope.navigator?.gpu) return scope.navigator.gpu;
  if (scope.isSecureContext === false) {
    throw new TokenglassError(
      'insecure-context',
      'Cannot use WebGPU: the page is not secure; serve it over https or from localhost',
    );
  }
  throw new TokenglassError(
    'no-webgpu',
    'Cannot use WebGPU: this browser does not have it; use a current Chrome, Edge, Safari or Firefox',
  );
}

async function requestDevice(adapter: GPUAdapter, requiredFeatures: GPUFeatureName[]): Promise<GPUDevice> {
  const requiredLimits: Record<string, number> = {};
  for (const name of LIMITS) {
    const value = adapter.limits[name];
    if (typeof value === 'number') requiredLimits[name] = value;
  }
  try {
    return await adapter.requestDevice({ label: 'tokenglass', requiredFeatures, requiredLimits });
  } catch (cause) {
    throw new TokenglassError('device-lost', 'Cannot use WebGPU: the adapter gave no device; reload the page', {
      cause,
    });
  }
}

/** Limits that kernels, weights and KV run into; asked for exactly as the adapter has them. */
const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupsPerDimension',
] as const;

function wrap(
  device: GPUDevice,
  gpu: GPU,
  adapter: GPUAdapter,
  info: AdapterInfo,
  without: ReadonlySet<string>,
  { limitMs = info.isFallback ? SOFTWARE_WATCHDOG_MS : WATCHDOG_MS, every }: WatchdogOptions = {},
): GpuContext {
  const memory = new GpuMemory(device);
  let destroyed = false;
  let lose: (error: TokenglassError) => void;
  const lost = new Promise<TokenglassError>((resolve) => {
    lose = resolve;
    void device.lost.then(({ reason, message }) => {
      if (destroyed) return;
      resolve(
        new TokenglassError('device-lost', `Cannot go on: the GPU device was lost (${message}); load the model again`, {
          details: { reason, message },
        }),
      );
    });
    device.addEventListener('uncapturederror', (event) => {
      event.preventDefault();
      resolve(
        new TokenglassError('internal', `Cannot go on: the GPU refused a command; please report this`, {
          details: { message: event.error.message },
        }),
      );
    });
  });
  const watchdog = new Watchdog(limitMs, (error) => lose(error), every);
  void lost.then((error) => watchdog.end(error));
  const { subgroupMinSize, subgroupMaxSize } = adapter.info;
  return {
    device,
    adapter: info,
    memory,
    watchdog,
    lost,
    abilities: {
      ...(device.features.has('subgroups') && { subgroups: { min: subgroupMinSize, max: subgroupMaxSize } }),
      shaderF16: device.features.has('shader-f16'),
      timestamps: device.features.has('timestamp-query'),
      packed4x8: gpu.wgslLanguageFeatures.has(PACKED_4X8) && !without.has(PACKED_4X8),
      unroll: !info.isFallback,
    },
    destroy() {
      destroyed = true;
      watchdog.stop();
      memory.destroyAll();
      device.destroy();
    },
  };
}

/** The longest step there is, a prefill chunk, takes a second or so on a weak GPU; a software adapter may be busy for minutes. */
const WATCHDOG_MS = 60_000;
const SOFTWARE_WATCHDOG_MS = 600_000;

const PACKED_4X8 = 'packed_4x8_integer_dot_product';

function describeAdapter(adapter: GPUAdapter): AdapterInfo {
  const { vendor, architecture, device, description } = adapter.info;
  const name = description || device || architecture || vendor || 'unknown adapter';
  const isSoftware = /swiftshader|llvmpipe|basic render|\bcpu\b/i.test(
    `${vendor} ${architecture} ${device} ${description}`,
  );
  return {
    vendor,
    architecture,
    description: name,
    isFallback: (adapter.info as { isFallbackAdapter?: boolean }).isFallbackAdapter === true || isSoftware,
    features: [...adapter.features].sort(),
  };
}

/**
 * Runs `create` within error scopes, and turns what the device says into an error of ours.
 *
 * @param what for the message: "Cannot make <what>"
 * @throws TokenglassError `model-too-large` when the device is out of memory, `internal` for a validation error
 */
export async function withErrorScopes<T>(device: GPUDevice, what: string, create: () => T | Promise<T>): Promise<T> {
  device.pushErrorScope('validation');
  device.pushErrorScope('out-of-memory');
  let outOfMemory: Promise<GPUError | null>;
  let invalid: Promise<GPUError | null>;
  let result: T;
  // Scopes are a stack of the device: they are closed before anything is awaited, or they would catch errors of others.
  try {
    const creating = create();
    outOfMemory = device.popErrorScope();
    invalid = device.popErrorScope();
    result = await creating;
  } catch (error) {
    // A synchronous throw leaves both open.
    await Promise.allSettled([device.popErrorScope(), device.popErrorScope()]);
    throw error;
  }
  const [memoryError, validationError] = await Promise.all([outOfMemory, invalid]);
  if (memoryError) {
    throw new TokenglassError(
      'model-too-large',
      `Cannot make ${what}: the device is out of memory; take a smaller model or context`,
      { details: { message: memoryError.message } },
    );
  }
  if (validationError) {
    throw new TokenglassError('internal', `Cannot make ${what}: ${validationError.message}`);
  }
  return result;
}
