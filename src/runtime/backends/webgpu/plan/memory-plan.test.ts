import { expect } from 'chai';
import { describeModel } from '../../../models/architectures/describe-model.ts';
import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import { readGgufHeader } from '../../../models/gguf/read-header.ts';
import { makeSyntheticGguf, SHAPES } from '../../../models/testing/synthetic-model.ts';
import { planMemory, type MemoryRequest } from './memory-plan.ts';

const request: MemoryRequest = {
  model: 'mine',
  weightBytes: 1_000_000,
  maxBatch: 4,
  maxSamples: 4,
  maxStepTokens: 256,
  slots: 8,
  maxBindingBytes: 2 ** 27,
};

describe('planMemory', () => {
  let config: ModelConfig;
  before(async () => {
    const gguf = makeSyntheticGguf({ architecture: 'llama', quantization: 'Q4_0', ...SHAPES.tiny });
    ({ config } = describeModel(await readGgufHeader(gguf)));
  });

  it('planMemory: takes the context the model was trained for, and KV for every sequence where that is cheap', () => {
    const plan = planMemory(config, request);
    expect(plan.contextTokens).to.equal(2048);
    expect(plan.kvBlocks).to.equal((2048 / 32) * 4);
    // 2 layers, 4 heads of 32, keys and values, f16
    expect(plan.kvBytes).to.equal(2048 * 4 * (2 * 4 * 32 * 2 * 2));
  });

  it('planMemory: a context that does not fit is refused with the numbers and the largest that does', () => {
    const budgetBytes = 4_500_000;
    const error = caught(() => planMemory(config, { ...request, contextTokens: 2048, budgetBytes }));
    expect(error).to.have.property('code', 'model-too-large');
    const { neededBytes, availableBytes, largestContextTokens } = error.details;
    expect(neededBytes).to.be.greaterThan(budgetBytes);
    expect(availableBytes).to.equal(budgetBytes);
    const plan = planMemory(config, { ...request, contextTokens: largestContextTokens!, budgetBytes });
    expect(plan.totalBytes).to.be.at.most(budgetBytes);
    expect(
      caught(() => planMemory(config, { ...request, contextTokens: largestContextTokens! + 32, budgetBytes })).code,
    ).to.equal('model-too-large');
  });

  it('planMemory: without a wish the context shrinks to what fits', () => {
    const plan = planMemory(config, { ...request, budgetBytes: 4_500_000 });
    expect(plan.contextTokens).to.be.within(32, 2047);
    expect(plan.totalBytes).to.be.at.most(4_500_000);
  });

  it('planMemory: weights above the budget are refused', () => {
    expect(caught(() => planMemory(config, { ...request, budgetBytes: 900_000 })).code).to.equal('model-too-large');
  });

  it('planMemory: states that are no KV count, and are refused where one binding does not hold them', async () => {
    const gguf = makeSyntheticGguf({ ...SHAPES.small, architecture: 'qwen35', quantization: 'Q8_0', layers: 4 });
    const { config: own } = describeModel(await readGgufHeader(gguf));
    const plan = planMemory(own, request);
    expect(plan.statePages).to.be.above(1 + 2 * request.slots);
    // Of a layer: 3 inputs of a convolution of (2 * 2 + 4) * 16 channels, and 4 matrices of 16 x 16.
    const layerBytes = 4 * (3 * 128 + 4 * 16 * 16);
    expect(plan.scratchBytes).to.be.above(3 * layerBytes * plan.statePages);
    const maxBindingBytes = layerBytes * 2 * request.slots;
    const error = caught(() => planMemory(own, { ...request, maxBindingBytes }));
    expect(error.code).to.equal('model-too-large');
    expect(error.details).to.include({
      neededBytes: layerBytes * (1 + 2 * request.slots),
      availableBytes: maxBindingBytes,
    });
  });

  it('planMemory: KV of a layer stays within one binding', () => {
    const plan = planMemory(config, { ...request, maxBindingBytes: 4 * 32 * 2 * 1024 });
    expect(plan.contextTokens).to.equal(1024);
    expect(plan.kvBlocks).to.equal(32);
  });
});

function caught(body: () => unknown): { code: string; details: Record<string, number | undefined> } {
  try {
    body();
  } catch (error) {
    return error as { code: string; details: Record<string, number | undefined> };
  }
  throw new Error('nothing was thrown');
}
