import { expect } from 'chai';
import type { EngineName } from '../shared/info.ts';
import { probeGpu } from './backends/onnx/adapter-probe.ts';
import { fakeAdapter, fakeGpu } from './backends/onnx/testing/fake-gpu.ts';
import { chooseEngine } from './choose-engine.ts';

const REAL = fakeGpu(fakeAdapter({ vendor: 'nvidia', architecture: 'hopper', description: 'NVIDIA H200' }));
const SOFTWARE = fakeGpu(fakeAdapter({ vendor: 'google', architecture: 'swiftshader', isFallbackAdapter: true }));

describe('chooseEngine', () => {
  it('chooseEngine: auto takes WebGPU on a real adapter and names it', async () => {
    const choice = chooseEngine('auto', await probeGpu({ gpu: REAL }));
    expect(choice.engine).to.equal('onnx-webgpu');
    expect(choice.reason).to.include('NVIDIA H200');
  });

  it('chooseEngine: auto takes WASM on a software adapter or none, each with its own reason', async () => {
    const probes = [
      await probeGpu({ gpu: SOFTWARE }),
      await probeGpu({ gpu: fakeGpu(null) }),
      await probeGpu({ gpu: undefined, isSecureContext: true }),
      await probeGpu({ gpu: undefined, isSecureContext: false }),
    ];
    const choices = probes.map((probe) => chooseEngine('auto', probe));
    expect(choices.map(({ engine }) => engine)).to.deep.equal(Array.from({ length: 4 }, () => 'onnx-wasm'));
    const wanted = [/swiftshader/, /no GPU adapter/, /browser has no WebGPU/, /https/];
    choices.forEach(({ reason }, index) => expect(reason).to.match(wanted[index]!));
  });

  it('chooseEngine: an engine asked for by name is taken, also on a software adapter, and never replaced', async () => {
    const software = await probeGpu({ gpu: SOFTWARE });
    expect(chooseEngine('onnx-webgpu', software)).to.include({ engine: 'onnx-webgpu' });
    expect(chooseEngine('onnx-webgpu', software).reason).to.include('software');
    expect(chooseEngine('onnx-wasm', await probeGpu({ gpu: REAL })).engine).to.equal('onnx-wasm');
    const none = await probeGpu({ gpu: fakeGpu(null) });
    expect(() => chooseEngine('onnx-webgpu', none))
      .to.throw()
      .with.property('code', 'no-adapter');
    expect(() => chooseEngine('cuda' as EngineName, none))
      .to.throw()
      .with.property('code', 'unsupported');
  });
});
