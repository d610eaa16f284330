import { expect } from 'chai';
import { probeGpu, type GpuProbe } from '../backends/gpu/adapter-probe.ts';
import { fakeAdapter, fakeGpu } from '../backends/onnx/testing/fake-gpu.ts';
import { chooseEngines, type LocalEngineName } from './choose-engine.ts';

const REAL = fakeGpu(fakeAdapter({ vendor: 'nvidia', architecture: 'hopper', description: 'NVIDIA H200' }));
const SOFTWARE = fakeGpu(fakeAdapter({ vendor: 'google', architecture: 'swiftshader', isFallbackAdapter: true }));
const BOTH = { gguf: true, onnx: true };
const ONNX = { gguf: false, onnx: true };
const GGUF = { gguf: true, onnx: false };

describe('chooseEngines', () => {
  let real: GpuProbe;
  let software: GpuProbe;
  let none: GpuProbe;
  before(async () => {
    real = await probeGpu({ gpu: REAL });
    software = await probeGpu({ gpu: SOFTWARE });
    none = await probeGpu({ gpu: fakeGpu(null) });
  });
  const names = (...given: Parameters<typeof chooseEngines>): string[] =>
    chooseEngines(...given).map(({ engine }) => engine);
  const codeOf = (choose: () => unknown): unknown => {
    try {
      choose();
    } catch (error) {
      return (error as { code?: unknown }).code;
    }
    return 'nothing was thrown';
  };

  it('chooseEngines: auto takes WebGPU on a real adapter, names it, and has WASM in reserve', () => {
    expect(names('auto', real, BOTH)).to.deep.equal(['webgpu', 'onnx-webgpu', 'wasm', 'onnx-wasm']);
    expect(names('auto', real, ONNX)).to.deep.equal(['onnx-webgpu', 'onnx-wasm']);
    expect(names('auto', real, GGUF)).to.deep.equal(['webgpu', 'wasm']);
    expect(chooseEngines('auto', real, ONNX)[0].reason).to.include('NVIDIA H200');
  });

  it('chooseEngines: auto takes WASM on a software adapter or none, each with its own reason', async () => {
    const probes = [
      software,
      none,
      await probeGpu({ gpu: undefined, isSecureContext: true }),
      await probeGpu({ gpu: undefined, isSecureContext: false }),
    ];
    const wanted = [/swiftshader.*software/, /no GPU adapter/, /browser has no WebGPU/, /https/];
    probes.forEach((probe, index) => {
      const choices = chooseEngines('auto', probe, BOTH);
      const inReserve = probe.status === 'adapter' ? ['webgpu'] : [];
      expect(choices.map(({ engine }) => engine)).to.deep.equal(['wasm', 'onnx-wasm', ...inReserve]);
      expect(choices[0].reason).to.match(wanted[index]!);
    });
  });

  it('chooseEngines: a GGUF file runs on the CPU without an adapter, and on a software one, which is in reserve for what the CPU engine does not run', () => {
    expect(names('auto', none, GGUF)).to.deep.equal(['wasm']);
    expect(names('auto', software, GGUF)).to.deep.equal(['wasm', 'webgpu']);
    const [cpu, gpu] = chooseEngines('auto', software, GGUF);
    expect(cpu.reason).to.match(/CPU.*software/);
    expect(gpu!.reason).to.match(/slow/);
  });

  it('chooseEngines: an engine asked for by name is taken, also on a software adapter, and never replaced', () => {
    for (const engine of ['webgpu', 'onnx-webgpu'] as const) {
      expect(names(engine, software, BOTH)).to.deep.equal([engine]);
      expect(chooseEngines(engine, software, BOTH)[0].reason).to.include('software');
      expect(codeOf(() => chooseEngines(engine, none, BOTH))).to.equal('no-adapter');
    }
    expect(names('onnx-wasm', real, BOTH)).to.deep.equal(['onnx-wasm']);
  });

  it('chooseEngines: a model of another format and a name that is no engine are refused, each with its code', () => {
    expect(codeOf(() => chooseEngines('webgpu', real, ONNX))).to.equal('model-unsupported');
    expect(codeOf(() => chooseEngines('onnx-wasm', real, GGUF))).to.equal('model-unsupported');
    expect(codeOf(() => chooseEngines('cuda' as LocalEngineName, real, BOTH))).to.equal('unsupported');
    expect(codeOf(() => chooseEngines('toString' as LocalEngineName, real, BOTH))).to.equal('unsupported');
  });
});
