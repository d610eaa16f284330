import { expect } from 'chai';
import { describeModel } from '../../../models/architectures/describe-model.ts';
import { readGgufHeader } from '../../../models/gguf/read-header.ts';
import { makeSyntheticGguf, SHAPES } from '../../../models/testing/synthetic-model.ts';
import type { GpuContext } from '../device.ts';
import { defaultLinearTile } from '../kernels/linear/linear.ts';
import { KernelCompiler, type KernelSource } from '../kernels/pipeline.ts';
import { onDevice } from '../testing/gpu.ts';
import { createMatrices } from '../weights/load-weights.ts';
import { planWeights } from '../weights/weight-plan.ts';
import { tuneTiles } from './autotune.ts';
import type { PlanBuffers } from './buffers.ts';
import type { TuningStore } from './tuning.ts';

class CountingCompiler extends KernelCompiler {
  compiled = 0;
  override compile(source: KernelSource) {
    this.compiled += 1;
    return super.compile(source);
  }
}

async function tune(gpu: GpuContext, store?: TuningStore) {
  const gguf = makeSyntheticGguf({ architecture: 'llama', quantization: 'Q4_0', ...SHAPES.odd, layers: 1, ffn: 64 });
  const description = describeModel(await readGgufHeader(gguf));
  const weights = planWeights(description, { maxBindingBytes: 2 ** 27 });
  const buffer = (label: string) => gpu.memory.create(label, 2 ** 16);
  const buffers = {
    normed: buffer('x'),
    inner: buffer('y'),
    projected: buffer('p'),
    mixed: buffer('m'),
    logits: buffer('logits'),
  } as unknown as PlanBuffers;
  const compiler = new CountingCompiler(gpu.device);
  const matrices = createMatrices(gpu, weights);
  const tile = await tuneTiles({ gpu, compiler, weights, matrices, buffers, store, version: 'test' });
  return { tile, compiled: compiler.compiled };
}

const SHAPE = { format: 'int4', rows: 128, cols: 64, m: 1, xStride: 64, yStride: 128 } as const;

describe('tuneTiles', () => {
  it('tuneTiles: a software adapter takes the default without measuring', () =>
    onDevice(async (gpu) => {
      const { tile, compiled } = await tune(gpu);
      expect(compiled).to.equal(0);
      expect(tile(SHAPE)).to.deep.equal(defaultLinearTile('int4', 128, 64, 1, gpu.abilities));
    }));

  it('tuneTiles: what was measured is kept per adapter and version, and used without measuring again', () =>
    onDevice(async (gpu) => {
      const kept = new Map<string, unknown>();
      const store: TuningStore = {
        get: (key) => Promise.resolve(kept.get(key)),
        set: (key, value) => Promise.resolve(void kept.set(key, value)),
      };
      const hardware: GpuContext = { ...gpu, abilities: { ...gpu.abilities, unroll: true } };
      const first = await tune(hardware, store);
      expect(first.compiled).to.be.greaterThan(0);
      const [[key, value] = []] = kept;
      expect(key).to.contain('test').and.to.contain(gpu.adapter.description);
      const [shape] = Object.keys(value as object);
      expect(shape).to.match(/^int4 /);
      // What is in the store is taken as it is; broken entries are not.
      kept.set(key!, { 'int4 128x64': { lanes: 8, rowLanes: 8, rows: 2 }, 'int4 64x64': { lanes: 7 } });
      expect((await tune(hardware, store)).tile(SHAPE)).to.deep.equal({ lanes: 8, rowLanes: 8, rows: 2 });
    }));

  it('tuneTiles: a store that fails does no harm', () =>
    onDevice(async (gpu) => {
      const fail = () => Promise.reject(new Error('the disk is gone'));
      const { tile } = await tune(gpu, { get: fail, set: fail });
      expect(tile(SHAPE)).to.be.an('object');
    }));
});
