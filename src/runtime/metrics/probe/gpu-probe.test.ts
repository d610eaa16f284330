import { expect } from 'chai';
import { isTokenglassError } from '../../../shared/errors.ts';
import { peaksOf, type DeviceProbe } from './device-probe.ts';
import { GpuBench, USAGE } from './gpu-bench.ts';
import { probeGpu } from './gpu-probe.ts';
import { createProbeKernels } from './probe-kernels.ts';
import readCode from './stream-read.wgsl?raw';
import fillCode from './fill.wgsl?raw';

/** A software adapter: only that numbers are there and in a sane order is checked, never how large they are. */
const SMALL = { bufferBytes: 2 ** 22, targetMs: 4 } as const;
const adapter = { vendor: 'v', architecture: 'a', description: 'd', isFallback: true, features: [] };

async function newDevice(features: GPUFeatureName[] = []): Promise<GPUDevice> {
  const found = await navigator.gpu.requestAdapter();
  return found!.requestDevice({ requiredFeatures: features.filter((name) => found!.features.has(name)) });
}

describe('probeGpu', () => {
  let device: GPUDevice;
  let probe: DeviceProbe;
  const errors: string[] = [];

  before(async () => {
    device = await newDevice(['timestamp-query', 'shader-f16']);
    device.addEventListener('uncapturederror', ({ error }) => errors.push(error.message));
    probe = await probeGpu(device, { ...SMALL, adapter });
  });
  after(() => device.destroy());

  it('probeGpu: every field has a number with repeats and spread, or a reason', () => {
    const { flopPerSecond, absent } = probe;
    const fields = {
      readBytesPerSecond: probe.readBytesPerSecond,
      'flopPerSecond.f32': flopPerSecond.f32,
      'flopPerSecond.f16': flopPerSecond.f16,
      'flopPerSecond.int8': flopPerSecond.int8,
      dispatchMs: probe.dispatchMs,
      dispatchGpuMs: probe.dispatchGpuMs,
      readbackMs: probe.readbackMs,
    };
    for (const [field, measured] of Object.entries(fields)) {
      const reason = absent[field as keyof typeof fields];
      expect(measured === undefined, `${field}: ${String(reason)}`).to.equal(reason !== undefined);
      if (!measured) continue;
      expect(measured.value, field).to.be.above(0).and.below(Infinity);
      expect(measured.spread, field).to.be.within(0, 100);
      expect(measured.n, field).to.be.at.least(5);
    }
    expect(probe).to.include({ schema: 'tokenglass.probe/2', device: 'gpu', bufferBytes: 2 ** 22 });
    expect(probe.adapter).to.deep.equal(adapter);
  });

  it('probeGpu: numbers are in a sane order', () => {
    // A dispatch is a part of a round trip; encoding it and running it are parts of the dispatch.
    if (probe.dispatchMs && probe.readbackMs) expect(probe.dispatchMs.value).to.be.below(50 * probe.readbackMs.value);
    const { dispatchMs, dispatchEncodeMs, dispatchGpuMs } = probe;
    if (dispatchMs) expect(dispatchEncodeMs!.value).to.be.above(0).and.at.most(dispatchMs.value);
    if (dispatchGpuMs) expect(dispatchGpuMs.value).to.be.at.most(dispatchMs!.value);
    expect(probe.tookMs).to.be.above(0);
  });

  it('probeGpu: leaves the device usable, and raises no error on it', async () => {
    const buffer = device.createBuffer({ size: 4, usage: USAGE.storage });
    await device.queue.onSubmittedWorkDone();
    buffer.destroy();
    expect(errors).to.deep.equal([]);
  });

  it('probeGpu: survives structured clone, and its medians are the peaks of the diagnosis', () => {
    const copy = structuredClone(probe);
    expect(copy).to.deep.equal(probe);
    const peaks = peaksOf(probe);
    expect(peaks.bytesPerSecond).to.equal(probe.readBytesPerSecond?.value);
    expect(peaks.flopPerSecond).to.equal(probe.flopPerSecond.f32?.value);
    expect(peaks.dispatchMs).to.equal(probe.dispatchMs?.value);
  });

  it('probeGpu: measures with kernels of the caller, and leaves them usable', async () => {
    const bench = new GpuBench(device, { now: () => performance.now() });
    const kernels = await createProbeKernels(bench, 2 ** 23);
    const own = await probeGpu(device, { ...SMALL, kernels });
    expect(own.bufferBytes).to.equal(2 ** 23);
    const { chain, read } = kernels;
    const { word: before } = await bench.time(() => {}, chain.counter);
    const { word: after } = await bench.time((pass) => {
      read!.record(pass);
      chain.record(pass, 5);
    }, chain.counter);
    expect(after - before).to.equal(5);
    bench.destroy();
    expect(errors).to.deep.equal([]);
  });

  it('probeGpu: gives no number by a clock that is too coarse, and says so', async () => {
    const plain = await newDevice();
    let calls = 0;
    const clock = { now: () => Math.floor(calls++ / 2000) * 100 };
    const { flopPerSecond, absent, ...rest } = await probeGpu(plain, { ...SMALL, clock, languageFeatures: new Set() });
    plain.destroy();
    expect(rest).to.not.have.any.keys('readBytesPerSecond', 'dispatchMs', 'dispatchEncodeMs', 'readbackMs');
    expect(flopPerSecond).to.deep.equal({});
    expect(absent.readBytesPerSecond).to.contain('steps of 100 ms');
    expect(absent['flopPerSecond.f16']).to.contain('shader-f16');
  });

  it('probeGpu: a device that is gone is told as such', async () => {
    const gone = await newDevice();
    gone.destroy();
    const error = await probeGpu(gone, SMALL).catch((reason: unknown) => reason);
    expect(isTokenglassError(error)).to.equal(true);
  });
});

describe('GpuBench', () => {
  it('stream-read: every workgroup reads another part each round, and all of the buffer', async () => {
    const device = await newDevice();
    const bench = new GpuBench(device, { now: () => performance.now() });
    const groups = 4;
    const vectors = groups * 256 * 64;
    const data = await bench.buffer('data', vectors * 16, USAGE.storage | USAGE.copyDst | USAGE.copySrc);
    const sums = await bench.buffer('sums', groups * 256 * 4, USAGE.storage | USAGE.copySrc);
    const rounds = bench.createRounds('read');
    const read = await bench.kernel('read', readCode, [rounds.buffer, data, sums]);
    // In one round each word of thread 0 of group 0 comes from vectors 0, 1024, 2048, ...
    const words = new Uint32Array(vectors * 4);
    words[(1024 * 5 + 0) * 4 + 2] = 7;
    device.queue.writeBuffer(data, 0, words);
    rounds.set(1);
    const { word } = await bench.time((pass) => GpuBench.record(pass, read, groups), sums);
    // Load 5 is in the second of sixteen steps: fourteen times 3 follow.
    expect(word).to.equal(Number((7n * 3n ** 14n) & 0xffffffffn));
    const fill = await bench.kernel('fill', fillCode, [data]);
    const filled = await bench.time((pass) => GpuBench.record(pass, fill, groups), data);
    expect(filled.word).to.equal(hash(0));
    bench.destroy();
    bench.destroy();
    device.destroy();
  });
});

/** As in `fill.wgsl`. */
function hash(value: number): number {
  let x = (Math.imul(value, 747796405) + 2891336453) >>> 0;
  x = Math.imul((x >>> ((x >>> 28) + 4)) ^ x, 277803737) >>> 0;
  return ((x >>> 22) ^ x) >>> 0;
}
