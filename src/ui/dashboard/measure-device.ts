import { createStore, get, set, type UseStore } from 'idb-keyval';
import { TokenglassError } from '../../shared/errors.ts';
import type { EngineInfo } from '../../shared/info.ts';
import { probeCpu } from '../../runtime/metrics/probe/cpu-probe.ts';
import type { DeviceProbe } from '../../runtime/metrics/probe/device-probe.ts';
import { probeGpu } from '../../runtime/metrics/probe/gpu-probe.ts';
import { probeKey, probeOnce, type ProbeStore } from '../../runtime/metrics/probe/probe-store.ts';

/** What makes a probe say more, where the adapter has it. */
const WANTED: readonly GPUFeatureName[] = ['timestamp-query', 'shader-f16', 'subgroups'];

let opened: UseStore | undefined;
const database = (): UseStore => (opened ??= createStore('tokenglass-probes', 'probes'));

const store: ProbeStore = {
  get: async (key) => get<unknown>(key, database()),
  set: async (key, value) => set(key, value, database()),
};

const keyOf = ({ adapter, threads }: EngineInfo): string => probeKey(adapter ? { adapter } : { threads: threads ?? 1 });

/** What was measured of an engine's device on an earlier visit; undefined if nothing was, or storage is refused. */
export async function keptProbe(info: EngineInfo): Promise<DeviceProbe | undefined> {
  try {
    return await probeOnce(store, keyOf(info), () =>
      Promise.reject(new TypeError('Cannot measure: it was not asked for')),
    );
  } catch {
    return undefined;
  }
}

/**
 * Measures the device that an engine computes on, in one to two seconds, and keeps the result on it. The engine should be idle.
 *
 * @throws TokenglassError `no-webgpu`, `no-adapter`, `device-lost`, `internal`
 */
export const measureDevice = async ({ info }: { info: EngineInfo }): Promise<DeviceProbe> =>
  probeOnce(store, keyOf(info), () => (info.adapter ? measureGpu(info) : measureCpu(info)), true);

const measureCpu = async ({ threads = 1 }: EngineInfo): Promise<DeviceProbe> => probeCpu({ threads });

/** On a device of the page's own: that of the engine is in its worker, and busy with other things. */
async function measureGpu({ adapter: described }: EngineInfo): Promise<DeviceProbe> {
  const gpu = (navigator as Partial<Navigator>).gpu;
  if (!gpu)
    throw new TokenglassError('no-webgpu', 'Cannot measure the GPU: this page has no WebGPU; use another browser');
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter)
    throw new TokenglassError('no-adapter', 'Cannot measure the GPU: the browser gave no adapter; reload the page');
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const device = await adapter.requestDevice({
    label: 'tokenglass probe',
    requiredFeatures: WANTED.filter((feature) => adapter.features.has(feature)),
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
  });
  try {
    return await probeGpu(device, described ? { adapter: described } : {});
  } finally {
    device.destroy();
  }
}
