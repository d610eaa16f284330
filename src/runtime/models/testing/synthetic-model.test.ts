import { expect } from 'chai';
import { describeModel } from '../architectures/describe-model.ts';
import { dequantize } from '../gguf/dequantize.ts';
import { readGgufHeader } from '../gguf/read-header.ts';
import { BLOCK_LAYOUTS, type GgmlType } from '../gguf/tensor-types.ts';
import { SeededRandom } from './random.ts';
import { randomRows } from './random-weights.ts';
import { createReferenceModel } from './reference-model.ts';
import { makeSyntheticGguf, SHAPES, syntheticGgufChunks, type SyntheticModel } from './synthetic-model.ts';

const odd: SyntheticModel = { ...SHAPES.odd, architecture: 'qwen3', quantization: 'Q4_0' };

const deviation = (values: Float32Array) => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
};

describe('makeSyntheticGguf', () => {
  it('makeSyntheticGguf: gives the same bytes for the same seed, and others for another', () => {
    const bytes = makeSyntheticGguf(odd);
    expect(makeSyntheticGguf(odd)).to.deep.equal(bytes);
    const other = makeSyntheticGguf({ ...odd, seed: 2 });
    expect(other).to.have.length(bytes.length);
    expect(other).not.to.deep.equal(bytes);
  });

  it('makeSyntheticGguf: keeps rows that are no whole blocks in F16, and falls back as llama.cpp does', async () => {
    const { tensors } = await readGgufHeader(makeSyntheticGguf({ ...odd, quantization: 'Q4_K' }));
    const typeOf = (name: string) => tensors.find((tensor) => tensor.name === name)?.type;
    expect([typeOf('blk.0.ffn_down.weight'), typeOf('blk.0.ffn_up.weight'), typeOf('output_norm.weight')]).to.deep.equal(
      ['F16', 'Q5_0', 'F32'],
    );
  });

  it('makeSyntheticGguf: logits are neither flat nor exploding, whatever the depth', async () => {
    for (const layers of [1, 24]) {
      const model = await createReferenceModel(makeSyntheticGguf({ ...odd, layers }));
      for (const logits of model.forward([1, 2, 3, 4])) expect(deviation(logits)).to.be.within(0.5, 5);
    }
  });
});

describe('syntheticGgufChunks', () => {
  it('syntheticGgufChunks: makes a large shape piece by piece, with a header that holds', async () => {
    let total = 0;
    let largest = 0;
    let header: Uint8Array | undefined;
    const model: SyntheticModel = { ...SHAPES['smollm2-135m'], architecture: 'llama', quantization: 'Q4_0', tied: true };
    for (const chunk of syntheticGgufChunks(model)) {
      header ??= chunk;
      total += chunk.length;
      largest = Math.max(largest, chunk.length);
    }
    expect(largest).to.be.below(4 * 2 ** 20);
    const read = await readGgufHeader(header!, { totalBytes: total });
    expect(total - read.endOffset).to.be.within(0, 31);
    expect(describeModel(read).config).to.have.property('vocabSize', 49_152);
  });
});

describe('randomRows', () => {
  for (const type of Object.keys(BLOCK_LAYOUTS) as GgmlType[]) {
    it(`randomRows: ${type} has the deviation asked for in each row, and nearly no mean`, () => {
      const bytes = randomRows(type, 4096, [0.01, 0.5], new SeededRandom(5));
      const values = dequantize(type, bytes);
      for (const [row, wanted] of [0.01, 0.5].entries()) {
        const part = values.subarray(row * 4096, (row + 1) * 4096);
        expect(deviation(part)).to.be.within(wanted * 0.9, wanted * 1.15);
        expect(Math.abs(part.reduce((sum, value) => sum + value, 0) / 4096)).to.be.below(wanted * 0.2);
      }
    });
  }
});
