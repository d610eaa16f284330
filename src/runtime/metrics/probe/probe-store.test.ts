import { expect } from 'chai';
import type { DeviceProbe } from './device-probe.ts';
import { probeKey, probeOnce, type ProbeStore } from './probe-store.ts';

describe('probeOnce', () => {
  const result = (measuredAtMs: number): DeviceProbe => ({
    schema: 'tokenglass.probe/2',
    device: 'gpu',
    measuredAtMs,
    tookMs: 1,
    timerResolutionMs: 0.1,
    bufferBytes: 1,
    flopPerSecond: {},
    absent: {},
  });
  const memoryStore = (): ProbeStore & { kept: Map<string, unknown> } => {
    const kept = new Map<string, unknown>();
    return {
      kept,
      get: (key) => Promise.resolve(kept.get(key)),
      set: (key, value) => Promise.resolve(void kept.set(key, value)),
    };
  };
  const adapterOf = (description: string) => ({
    adapter: { vendor: 'apple', architecture: 'metal-3', description, isFallback: false, features: [] },
  });

  it('probeOnce: measures once for an adapter, also for two callers at once, and again when asked to', async () => {
    const store = memoryStore();
    let runs = 0;
    const measure = () => Promise.resolve(result(++runs));
    const key = probeKey(adapterOf('M2'));
    const both = await Promise.all([probeOnce(store, key, measure), probeOnce(store, key, measure)]);
    expect(both.map(({ measuredAtMs }) => measuredAtMs)).to.deep.equal([1, 1]);
    expect((await probeOnce(store, key, measure)).measuredAtMs).to.equal(1);
    expect((await probeOnce(store, probeKey(adapterOf('M4')), measure)).measuredAtMs).to.equal(2);
    expect((await probeOnce(store, key, measure, true)).measuredAtMs).to.equal(3);
    expect((await probeOnce(store, key, measure)).measuredAtMs).to.equal(3);
    expect(probeKey({ threads: 4 })).to.not.equal(probeKey({ threads: 8 }));
  });

  it('probeOnce: a store that fails, or holds something else or older, costs a measurement', async () => {
    const broken: ProbeStore = {
      get: () => Promise.reject(new TypeError('no IndexedDB')),
      set: () => Promise.reject(new TypeError('no IndexedDB')),
    };
    expect((await probeOnce(broken, 'k', () => Promise.resolve(result(7)))).measuredAtMs).to.equal(7);
    const foreign = memoryStore();
    for (const [i, kept] of [{ schema: 'something else' }, { ...result(1), schema: 'tokenglass.probe/1' }].entries()) {
      foreign.kept.set('k', kept);
      expect((await probeOnce(foreign, 'k', () => Promise.resolve(result(8 + i)))).measuredAtMs).to.equal(8 + i);
    }
  });

  it('probeOnce: a failed measurement is not kept', async () => {
    const store = memoryStore();
    const failed = await probeOnce(store, 'k', () => Promise.reject(new TypeError('lost'))).catch(() => 'failed');
    expect(failed).to.equal('failed');
    expect((await probeOnce(store, 'k', () => Promise.resolve(result(9)))).measuredAtMs).to.equal(9);
  });
});
