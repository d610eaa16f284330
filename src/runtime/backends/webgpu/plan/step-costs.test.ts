import { expect } from 'chai';
import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import { modelSizes } from './model-sizes.ts';
import { StepCosts } from './step-costs.ts';

describe('StepCosts', () => {
  const config = {
    layers: Array.from({ length: 4 }, () => ({
      blocks: [
        { kind: 'attention', heads: 4, kvHeads: 2, headDim: 16 },
        { kind: 'dense', size: 128 },
      ],
    })),
    hiddenSize: 64,
    vocabSize: 256,
  } as unknown as ModelConfig;
  const costs = new StepCosts(config, { blocks: [], output: [], embedding: [] });
  const { kvBytesPerToken } = modelSizes(config);
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

  it('StepCosts: KV of a sequence is read once, whatever else is in the step, and that of each row written', () => {
    // 4 layers x 2 KV heads x 16 values x 2 (K and V) x 2 bytes.
    expect(kvBytesPerToken).to.equal(512);
    const alone = costs.of(upTo(64), 1, [64]);
    expect(alone.bytes.kv).to.equal((64 + 64) * 512);
    const mixed = costs.of([100, ...upTo(64)], 2, [100, 64]);
    expect(mixed.bytes.kv).to.equal((100 + 64 + 65) * 512);
    const batch = costs.of([100, 30], 2, [100, 30]);
    expect(batch.bytes.kv).to.equal((100 + 30 + 2) * 512);
  });

  it('StepCosts: attention is four FLOP for each head value and attended token of a layer', () => {
    expect(costs.of([100], 0, [100]).flop).to.equal(4 * 4 * 100 * 4 * 16);
    expect(costs.of([1, 2, 3], 0, [3]).flop).to.equal(4 * 4 * 6 * 4 * 16);
  });
});
