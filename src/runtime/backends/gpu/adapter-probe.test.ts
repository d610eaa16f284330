import { expect } from 'chai';
import { describeAdapter, gpuError, probeGpu, type GpuProbe } from './adapter-probe.ts';
import { fakeAdapter, fakeGpu } from '../onnx/testing/fake-gpu.ts';

const isMissing = (probe: GpuProbe): probe is Exclude<GpuProbe, { status: 'adapter' }> => probe.status !== 'adapter';

describe('probeGpu', () => {
  it('probeGpu: no WebGPU, an insecure page and a null adapter are told apart', async () => {
    const probes = [
      await probeGpu({ gpu: undefined, isSecureContext: true }),
      await probeGpu({ gpu: undefined, isSecureContext: false }),
      await probeGpu({ gpu: fakeGpu(null) }),
    ];
    expect(probes.map(({ status }) => status)).to.deep.equal(['no-webgpu', 'insecure-context', 'no-adapter']);
    const missing = probes.filter(isMissing);
    expect(new Set(missing.map(({ reason }) => reason)).size).to.equal(3);
    for (const probe of missing) expect(gpuError(probe)).to.have.property('code', probe.status);
  });

  it('probeGpu: an adapter request that fails counts as none', async () => {
    const gpu = { requestAdapter: () => Promise.reject(new TypeError('no')) } as unknown as GPU;
    expect(await probeGpu({ gpu })).to.have.property('status', 'no-adapter');
  });

  it('probeGpu: describes the adapter of this browser as a software one', async () => {
    const probe = await probeGpu();
    expect(probe.status).to.equal('adapter');
    if (probe.status !== 'adapter') return;
    expect(probe.info).to.include({ isFallback: true, architecture: 'swiftshader' });
    expect(probe.info.description).not.to.equal('');
    expect(probe.info.features).to.include('core-features-and-limits');
  });
});

describe('describeAdapter', () => {
  it('describeAdapter: knows a software adapter by its flag, old or new, and by its name', () => {
    const isFallback = (info: object, older?: boolean): boolean => describeAdapter(fakeAdapter(info, older)).isFallback;
    expect(isFallback({ vendor: 'nvidia', architecture: 'hopper' })).to.equal(false);
    expect(isFallback({ vendor: 'x', isFallbackAdapter: true })).to.equal(true);
    expect(isFallback({ vendor: 'x' }, true)).to.equal(true);
    expect(isFallback({ vendor: 'google', architecture: 'swiftshader', isFallbackAdapter: false })).to.equal(true);
    expect(isFallback({ vendor: 'microsoft', description: 'Microsoft Basic Render Driver' })).to.equal(true);
    expect(isFallback({ vendor: 'mesa', description: 'llvmpipe (LLVM 15)' })).to.equal(true);
  });

  it('describeAdapter: has a description also where the browser gives little', () => {
    expect(describeAdapter(fakeAdapter({ vendor: 'apple', architecture: 'metal-3' })).description).to.equal('metal-3');
    expect(describeAdapter(fakeAdapter({})).description).to.equal('unknown adapter');
  });
});
