import type { AdapterInfo } from '../../../shared/info.ts';
import { PROBE_SCHEMA, type DeviceProbe } from './device-probe.ts';

/** Where results are kept: IndexedDB, say. Values survive structured clone. */
export interface ProbeStore {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
}

/** Name of a device in a store: of the adapter, or of the CPU by its threads where that computes. */
export function probeKey(device: { adapter: AdapterInfo } | { threads: number }): string {
  if ('threads' in device) return `${PROBE_SCHEMA}:cpu:${device.threads}`;
  const { vendor, architecture, description } = device.adapter;
  return `${PROBE_SCHEMA}:${[vendor, architecture, description].map(encodeURIComponent).join(':')}`;
}

/** Probes that are under way, so that two callers measure once and do not disturb each other. */
const running = new WeakMap<ProbeStore, Map<string, Promise<DeviceProbe>>>();

/**
 * The kept result of a device, or a new one that is kept from then on. A store that fails costs a measurement, and nothing else.
 * @param again measure although there is a result @default false
 */
export async function probeOnce(
  store: ProbeStore,
  key: string,
  measure: () => Promise<DeviceProbe>,
  again = false,
): Promise<DeviceProbe> {
  const ofStore = running.get(store) ?? new Map<string, Promise<DeviceProbe>>();
  running.set(store, ofStore);
  const pending = ofStore.get(key);
  if (pending) return pending;
  const result = take(store, key, measure, again).finally(() => ofStore.delete(key));
  ofStore.set(key, result);
  return result;
}

async function take(
  store: ProbeStore,
  key: string,
  measure: () => Promise<DeviceProbe>,
  again: boolean,
): Promise<DeviceProbe> {
  if (!again) {
    const kept = await store.get(key).catch(() => undefined);
    if (isProbe(kept)) return kept;
  }
  const probe = await measure();
  await store.set(key, probe).catch(() => undefined);
  return probe;
}

const isProbe = (value: unknown): value is DeviceProbe =>
  typeof value === 'object' && value !== null && (value as { schema?: unknown }).schema === PROBE_SCHEMA;
