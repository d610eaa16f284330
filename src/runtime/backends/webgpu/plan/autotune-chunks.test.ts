import { expect } from 'chai';
import { describeModel } from '../../../models/architectures/describe-model.ts';
import { readGgufHeader } from '../../../models/gguf/read-header.ts';
import { makeSyntheticGguf } from '../../../models/testing/synthetic-model.ts';
import type { GpuContext } from '../device.ts';
import type { MatmulTile } from '../kernels/matmul/matmul.ts';
import { KernelCompiler } from '../kernels/pipeline.ts';
import { onDevice } from '../testing/gpu.ts';
import { createMatrices } from '../weights/load-weights.ts';
import { planWeights } from '../weights/weight-plan.ts';
import { tuneChunks, type PrefillPrecision } from './autotune-chunks.ts';
import type { PlanBuffers } from './buffers.ts';
import type { TuningStore } from './tuning.ts';

const ROWS = 64;
const SIZES = { layers: 1, hidden: 64, heads: 2, kvHeads: 2, ffn: 64, vocab: 320 } as const;
/** The output of attention, 64 x 64, which a down projection of the same shape shares. */
const SHAPE = { format: 'int4', rows: 64, cols: 64, xStride: 64, yStride: 64 } as const;

async function tune(gpu: GpuContext, precision: PrefillPrecision, store?: TuningStore) {
  const gguf = makeSyntheticGguf({ architecture: 'llama', quantization: 'Q4_0', ...SIZES });
  const description = describeModel(await readGgufHeader(gguf));
  const weights = planWeights(description, { maxBindingBytes: 2 ** 27 });
  const buffer = (label: string) => gpu.memory.create(label, ROWS * 64 * 4);
  const buffers = {
    normed: buffer('normed'),
    mixed: buffer('mixed'),
    inner: buffer('inner'),
    step: buffer('step'),
  } as unknown as PlanBuffers;
  const compiler = new KernelCompiler(gpu.device);
  const matrices = createMatrices(gpu, weights);
  const parts = { gpu, compiler, weights, matrices, buffers, store, version: 'test', budgetMs: Infinity };
  return tuneChunks(parts, precision, ROWS);
}

describe('tuneChunks', () => {
  it('tuneChunks: what was measured is kept per adapter, version and precision; exact is f32', () =>
    onDevice(async (gpu) => {
      const kept = new Map<string, unknown>();
      const store: TuningStore = {
        get: (key) => Promise.resolve(kept.get(key)),
        set: (key, value) => Promise.resolve(void kept.set(key, value)),
      };
      const tile = (await tune(gpu, 'exact', store))(SHAPE);
      expect(tile.arithmetic).to.equal('f32');
      expect(tile.tileRows).to.be.oneOf([32, 64]);
      const [[key, value] = []] = kept;
      expect(key).to.contain('test').and.to.contain('exact').and.to.contain(gpu.adapter.description);
      expect(value).to.have.property('int4 64x64').that.deep.equals(tile);
    }));

  it('tuneChunks: what is in the store is taken, but for what is broken, inexact where exact was asked for, or cannot be done', () =>
    onDevice(async (gpu) => {
      const known = (tile: MatmulTile | object): TuningStore => ({
        get: () => Promise.resolve({ 'int4 64x64': tile }),
        set: () => Promise.resolve(),
      });
      const tileOf = async (tile: object, precision: PrefillPrecision, abilities = gpu.abilities) =>
        (await tune({ ...gpu, abilities }, precision, known(tile)))(SHAPE);
      const dot8 = { tileRows: 64, arithmetic: 'dot8' };
      expect(await tileOf(dot8, 'fast', { ...gpu.abilities, packed4x8: true })).to.deep.equal(dot8);
      expect(await tileOf(dot8, 'exact')).to.deep.include({ arithmetic: 'f32' });
      expect(await tileOf(dot8, 'fast', { ...gpu.abilities, packed4x8: false })).to.deep.include({ arithmetic: 'f32' });
      expect(await tileOf({ tileRows: 48, arithmetic: 'f32' }, 'exact'))
        .to.have.property('tileRows')
        .oneOf([32, 64]);
    }));
});
