import { expect } from 'chai';
import { countGpuCalls, type GpuCallCounter, type GpuCallCounts } from '../bench/gpu-calls.ts';
import { makeSyntheticGguf, SHAPES, type SyntheticModel } from '../models/testing/synthetic-model.ts';
import { continueSequence, sequenceOptions } from '../backends/testing/run-tokens.ts';
import { createWebGpuBackend, type WebGpuBackendOptions } from '../backends/webgpu/create-webgpu-backend.ts';
import { memorySource } from '../models/testing/memory-source.ts';
import type { WebGpuBackend } from '../backends/webgpu/webgpu-backend.ts';

/** The narrowest widths: what is counted here depends on layers and formats alone, and software adapters compute slowly. */
const NARROW = { hidden: 64, heads: 2, kvHeads: 1, ffn: 96, vocab: 320 } as const;
/** Qwen2-0.5B as llama.cpp's Q4_K_M has it: 896 is no multiple of 256, so that Q5_0 and Q8_0 stand in for Q4_K and Q6_K. */
const QWEN2 = {
  ...NARROW,
  layers: SHAPES['qwen2-0.5b'].layers,
  architecture: 'qwen2',
  quantization: 'Q4_K_M',
} as const;

describe('webgpu backend: calls', () => {
  let counter: GpuCallCounter;

  before(() => {
    counter = countGpuCalls();
  });

  after(() => counter.uninstall());

  const load = (model: SyntheticModel, options: Partial<WebGpuBackendOptions> = {}): Promise<WebGpuBackend> =>
    createWebGpuBackend({
      source: memorySource(makeSyntheticGguf(model)),
      path: 'model.gguf',
      contextTokens: 64,
      maxBatch: 1,
      ...options,
    });

  /** Calls that a run of `count` steps makes, in all. */
  const callsOf = async (backend: WebGpuBackend, prompt: number, count: number): Promise<GpuCallCounts> => {
    const sequence = backend.openSequence(sequenceOptions());
    const tokens = Array.from({ length: prompt }, (_, i) => (i * 37 + 11) % backend.info.model.vocabSize);
    await continueSequence(backend, sequence, tokens, 1);
    const before = counter.read();
    for (let step = 0; step < count; step++)
      await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
    const after = counter.read();
    backend.closeSequence(sequence);
    const kinds = Object.keys(after) as (keyof GpuCallCounts)[];
    return Object.fromEntries(kinds.map((kind) => [kind, after[kind] - before[kind]])) as unknown as GpuCallCounts;
  };

  it('step: 24 layers as in Qwen2-0.5B take 5 dispatches each and 4 more, in one pass and one submit', async () => {
    const backend = await load(QWEN2);
    const calls = await callsOf(backend, 3, 4);
    expect(calls.dispatches / 4).to.equal(5 * 24 + 4);
    expect(calls).to.include({ computePasses: 4, submits: 4, mapAsync: 4 });
    await backend.dispose();
  });

  it('step: no architecture takes more than 6 dispatches a layer and 6', async () => {
    for (const architecture of ['llama', 'qwen3', 'gemma3', 'phi3'] as const) {
      // Wide enough for K-quants: Q4_K_M has values in Q6_K in some layers, whose format is another than that of query and key.
      const model = { ...SHAPES.tiny, layers: 2, vocab: 320, architecture, quantization: 'Q4_K_M' } as const;
      const backend = await load(model);
      const { dispatches } = await callsOf(backend, 3, 2);
      expect(dispatches / 2, architecture).to.be.within(2 * 5 + 4, 2 * 6 + 6);
      await backend.dispose();
    }
  });

  it('step: short convolutions and delta nets take 5 dispatches a layer, experts 6, Mamba-2 6, layer embeddings 2 more', async () => {
    for (const [architecture, layers, each, more] of [
      ['lfm2', 3, 5, 4],
      ['qwen35', 4, 5, 4],
      ['qwen3moe', 2, 6, 4],
      ['granitehybrid', 2, 6, 4],
      // The projection of embeddings to layers, and its join with the table.
      ['gemma4', 6, 7, 6],
    ] as const) {
      const backend = await load({ ...SHAPES.small, layers, architecture, quantization: 'F16' });
      const calls = await callsOf(backend, 3, 2);
      expect(calls.dispatches / 2, architecture).to.equal(each * layers + more);
      expect(calls, architecture).to.include({ submits: 2, mapAsync: 2, createBuffer: 0, createBindGroup: 0 });
      await backend.dispose();
    }
  });

  it('step: a context that grows across KV blocks and into splits makes nothing on the device', async () => {
    const model = { ...NARROW, layers: 1, architecture: 'llama', quantization: 'Q4_0' } as const;
    const backend = await load(model, { contextTokens: 640 });
    const bytes = backend.liveGpuBytes;
    const steps = 100;
    // 480 to 580 tokens: four borders of blocks of 32, and from 513 on attention is split.
    const calls = await callsOf(backend, 480, steps);
    expect(calls).to.include({ createBuffer: 0, createBindGroup: 0, createPipeline: 0, pushErrorScope: 0 });
    expect(calls).to.include({ submits: steps, writeBuffer: steps, clearBuffer: 0 });
    expect(backend.liveGpuBytes).to.equal(bytes);
    await backend.dispose();
  });

  it('createWebGpuBackend: pipelines are compiled without blocking, many at a time', async () => {
    const watch = watchCompiles();
    try {
      const backend = await load({ ...NARROW, layers: 1, architecture: 'llama', quantization: 'Q4_0' });
      await backend.dispose();
    } finally {
      watch.stop();
    }
    expect(watch.blocking).to.equal(0);
    expect(watch.compiled).to.be.greaterThan(10);
    expect(watch.mostAtOnce).to.be.greaterThan(5);
  });
});

/** How pipelines are compiled from now on. */
function watchCompiles() {
  const { prototype } = GPUDevice;
  const original = {
    createComputePipeline: Reflect.get(prototype, 'createComputePipeline'),
    createComputePipelineAsync: Reflect.get(prototype, 'createComputePipelineAsync'),
  };
  let running = 0;
  const watch = {
    blocking: 0,
    compiled: 0,
    mostAtOnce: 0,
    stop: () => void Object.assign(prototype, original),
  };
  prototype.createComputePipeline = function (...args) {
    watch.blocking += 1;
    return original.createComputePipeline.apply(this, args);
  };
  prototype.createComputePipelineAsync = async function (...args) {
    running += 1;
    watch.mostAtOnce = Math.max(watch.mostAtOnce, running);
    try {
      return await original.createComputePipelineAsync.apply(this, args);
    } finally {
      running -= 1;
      watch.compiled += 1;
    }
  };
  return watch;
}
