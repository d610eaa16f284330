import type { SeededRandom } from './random.ts';
import { argmax, type ReferenceModel } from './reference-model.ts';

/** By how much of itself the best logit leads: some five times the error that 8-bit activations of llama.cpp bring. */
const LEAD = 0.15;
const MOST_DRAWS = 32;

/**
 * Random tokens after each of which the model has a clear favourite. Random weights often leave the best two tokens too close to call, and
 * then rounding decides between them in any engine; on these tokens a different favourite is a fault. The model holds the tokens afterwards.
 *
 * @returns the tokens and the logits at each
 */
export function decisiveTokens(
  model: ReferenceModel,
  count: number,
  random: SeededRandom,
): { tokens: number[]; logits: Float32Array[] } {
  const tokens: number[] = [];
  const logits: Float32Array[] = [];
  const { vocabSize } = model.config;
  while (tokens.length < count) {
    let best: { token: number; lead: number } | undefined;
    for (let draw = 0; draw < MOST_DRAWS && (best === undefined || best.lead < LEAD); draw++) {
      const token = random.integer(vocabSize);
      const lead = leadOf(model.forward([token])[0]!);
      model.truncate(model.length - 1);
      if (best === undefined || lead > best.lead) best = { token, lead };
    }
    tokens.push(best!.token);
    logits.push(...model.forward([best!.token]));
  }
  return { tokens, logits };
}

function leadOf(logits: Float32Array): number {
  const first = argmax(logits);
  let second = -Infinity;
  for (const [id, logit] of logits.entries()) if (id !== first && logit > second) second = logit;
  return (logits[first]! - second) / Math.abs(logits[first]!);
}
