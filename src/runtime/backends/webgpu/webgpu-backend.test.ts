import { SHAPES } from '../../models/testing/synthetic-model.ts';
import { compareWithReference } from './testing/against-reference.ts';

/** Most that a log-probability may differ from the f32 reference: KV in f16 and sums in another order. */
const TOLERANCE = 0.01;

describe('webgpu backend: against the f32 reference', () => {
  for (const architecture of ['llama', 'qwen2', 'qwen3', 'gemma3', 'phi3'] as const) {
    it(`step: ${architecture} gives the log-probabilities of the reference in prefill and decode`, () =>
      compareWithReference(
        { architecture, quantization: 'Q4_0', ...SHAPES.tiny },
        { prompt: 40, steps: 6, tolerance: TOLERANCE },
      ));
  }
});
