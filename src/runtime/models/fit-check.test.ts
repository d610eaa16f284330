import { expect } from 'chai';
import { checkFit, memoryLimit, smallerModel } from './fit-check.ts';

const GIB = 2 ** 30;

describe('checkFit', () => {
  it('checkFit: weights, KV and scratch together must fit, and the error has the numbers and a smaller model', () => {
    const needs = { model: 'big', weightBytes: 3 * GIB, kvBytes: GIB / 2, scratchBytes: GIB / 2 };
    checkFit(needs, { memoryBytes: 4 * GIB });
    checkFit(needs, {});
    expect(() => checkFit(needs, { memoryBytes: 4 * GIB - 1 }))
      .to.throw(/3222 MB of weights, 537 MB of KV, 537 MB besides.*"llama-3.2-1b"/)
      .with.property('details')
      .that.deep.equals({
        model: 'big',
        neededBytes: 4 * GIB,
        availableBytes: 4 * GIB - 1,
        limit: 'memory',
        smallerModel: 'llama-3.2-1b',
      });
  });

  it('checkFit: the largest matrix must fit in one buffer', () => {
    const needs = { model: 'wide', weightBytes: GIB, largestBufferBytes: GIB / 4 };
    checkFit(needs, { maxBufferBytes: GIB / 4 });
    expect(() => checkFit(needs, { maxBufferBytes: GIB / 8 }))
      .to.throw(/one buffer/)
      .with.property('code', 'model-too-large');
  });

  it('smallerModel: is the largest of the catalog that is smaller and fits; none for the smallest, nor where nothing fits', () => {
    expect(smallerModel('llama-3.2-1b')).to.equal('gemma-3-1b');
    expect(smallerModel('bartowski/SmolLM2-360M-Instruct-GGUF')).to.equal('smollm2-135m');
    expect(smallerModel('onnx-community/SmolLM2-360M-Instruct-ONNX')).to.equal('smollm2-135m');
    expect(smallerModel('any', { ownBytes: 300e6 })).to.equal('smollm2-135m');
    expect(smallerModel('any', { ownBytes: 300e6, availableBytes: 40e6 })).to.equal('tutor');
    expect(smallerModel('tutor')).to.equal(undefined);
    expect(smallerModel('any', { ownBytes: 300e6, availableBytes: 1e6 })).to.equal(undefined);
    expect(smallerModel('any of which nothing is known')).to.equal('tutor');
  });

  it('memoryLimit: is at most the address space of WASM', () => {
    expect(memoryLimit(true)).to.be.at.most(4 * GIB);
    const limit = memoryLimit(false);
    if (limit !== undefined) expect(limit).to.be.lessThan(8 * GIB);
  });
});
