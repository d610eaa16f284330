import { SHAPES, type SyntheticModel } from '../../models/testing/synthetic-model.ts';
import { compareWithReference, type ReferenceRun } from './testing/against-reference.ts';

/**
 * Most that a log-probability may differ from the f32 reference: KV in f16 and sums in another order; and for K-quants the rounding of
 * scales and minima to f16, which random bits (minima far above the weights) make the most of.
 */
const TOLERANCE = 0.004;
const K_QUANT_TOLERANCE = 0.03;
/** What KV in f16 changes also changes the weights of experts; and Gemma 4 normalises its values, and multiplies its scores with 1. */
const SENSITIVE_TOLERANCE = 0.015;
/** Activations rounded to INT8 in groups of 16, by at most 1/254 of the largest of them. */
const INT8_TOLERANCE = 0.15;

type Model = Pick<SyntheticModel, 'architecture' | 'quantization'> & Partial<SyntheticModel>;

const run = (model: Model, more: Partial<ReferenceRun> = {}) => {
  const tolerance = model.quantization.includes('_K') ? K_QUANT_TOLERANCE : TOLERANCE;
  return compareWithReference({ ...SHAPES.tiny, ...model }, { prompt: 40, steps: 6, tolerance, ...more });
};

describe('webgpu backend: against the f32 reference', () => {
  for (const architecture of ['llama', 'qwen2', 'qwen3', 'gemma3', 'phi3'] as const) {
    it(`step: ${architecture} gives the log-probabilities of the reference in prefill and decode`, () =>
      run({ architecture, quantization: 'Q4_0' }));
  }

  for (const architecture of ['lfm2', 'qwen35'] as const) {
    it(`step: ${architecture} gives the log-probabilities of the reference, whatever the chunks`, async () => {
      const model = { architecture, layers: 4, quantization: 'Q4_0' } as const;
      await run(model);
      await run(model, { options: { chunks: 'tiled' }, chunk: 17 });
      await run(model, { chunk: 1 });
    });
  }

  it('step: embeddings by layer, shared keys and values, and heads of two widths (gemma4) match', async () => {
    const model = { ...SHAPES.small, architecture: 'gemma4', layers: 6, quantization: 'Q8_0' } as const;
    await run(model, { tolerance: SENSITIVE_TOLERANCE });
    await run(model, { tolerance: SENSITIVE_TOLERANCE, options: { chunks: 'tiled' }, chunk: 17 });
  });

  for (const architecture of ['qwen3moe', 'lfm2moe'] as const) {
    it(`step: ${architecture} gives the log-probabilities of the reference, whatever the chunks`, async () => {
      const model = { architecture, layers: 3, quantization: 'Q4_0' } as const;
      await run(model, { tolerance: SENSITIVE_TOLERANCE });
      await run(model, { tolerance: SENSITIVE_TOLERANCE, options: { chunks: 'tiled' }, chunk: 17 });
    });
  }

  it('step: chunks through the tiled kernels, of every architecture feature, match', async () => {
    await run({ architecture: 'gemma3', quantization: 'Q4_K_M' }, { options: { chunks: 'tiled' } });
    await run({ architecture: 'qwen2', quantization: 'Q8_0' }, { options: { chunks: 'tiled' }, chunk: 17 });
  });

  it('step: chunks in INT8 activations are near the reference', async () => {
    const everywhere: Record<string, unknown> = {};
    const { hidden, heads, kvHeads, ffn } = SHAPES.tiny;
    for (const [rows, cols, gated] of [
      [hidden + (2 * hidden * kvHeads) / heads, hidden, ''],
      [hidden, hidden, ''],
      [2 * ffn, hidden, ' gated'],
      [hidden, ffn, ''],
    ] as const)
      everywhere[`int4 ${rows}x${cols}${gated}`] = { tileRows: 32, arithmetic: 'dot8' };
    const tuning = { get: () => Promise.resolve(everywhere), set: () => Promise.resolve() };
    await run(
      { architecture: 'llama', quantization: 'Q4_0' },
      { tolerance: INT8_TOLERANCE, options: { chunks: 'tiled', prefillPrecision: 'fast', tuning } },
    );
  });

  it('step: rows of 172, heads of 8, five layers match', () =>
    run({ ...SHAPES.odd172, architecture: 'llama', quantization: 'F16' }, { options: { chunks: 'tiled' } }));

  it('step: a vocabulary of 151,936, untied, matches', () =>
    run(
      { ...SHAPES.odd, layers: 1, vocab: 151_936, architecture: 'qwen2', quantization: 'Q8_0' },
      { prompt: 10, steps: 3 },
    ));

  it('step: 9 heads that share 3 match, without subgroups and packed instructions', () =>
    run(
      { ...SHAPES.nine, architecture: 'llama', quantization: 'Q4_1' },
      { options: { withoutFeatures: ['subgroups', 'packed_4x8_integer_dot_product'] } },
    ));

  for (const quantization of ['Q4_K_M', 'Q5_K', 'F32'] as const) {
    it(`step: ${quantization} matches`, () => run({ architecture: 'llama', quantization }));
  }

  it('step: rotary scaling and factors match', () =>
    run({ architecture: 'llama', quantization: 'Q5_0', ropeScaling: 'factors' }, { chunk: 7 }));

  it('step: a context long enough to be split matches', () =>
    run(
      { ...SHAPES.tiny, layers: 1, architecture: 'llama', quantization: 'Q4_0' },
      { prompt: 560, steps: 2, chunk: 256, options: { contextTokens: 1024 } },
    ));
});
