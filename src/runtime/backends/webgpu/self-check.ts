import { TokenglassError } from '../../../shared/errors.ts';
import { NEUTRAL_SAMPLING } from '../../../shared/generation.ts';
import type { Backend } from '../backend.ts';

/** More rows than fused steps take, so that a chunk goes through the tiled kernels. */
const PROMPT_TOKENS = 12;
/** Log-probabilities of the same position, computed by different kernels, differ by rounding only. */
const MOST_DIFFERENCE = 0.05;

/**
 * Runs a short prompt in one chunk, and again partly token by token: two sets of kernels that must agree. Finds drivers that miscompile
 * before a user sees garbage, and warms up every pipeline on the way.
 *
 * @throws TokenglassError `numeric-fault`
 */
export async function selfCheck(backend: Backend): Promise<void> {
  const { vocabSize, contextTokens } = backend.info.model;
  const count = Math.min(PROMPT_TOKENS, contextTokens);
  const prompt = Array.from({ length: count }, (_, i) => (i * 31 + 7) % vocabSize);
  const whole = await bestLogprob(backend, prompt, count);
  const parts = await bestLogprob(backend, prompt, Math.max(1, count - 2));
  if (!(Math.abs(whole.logprob - parts.logprob) <= MOST_DIFFERENCE)) {
    throw new TokenglassError(
      'numeric-fault',
      'Cannot use this GPU: prefill and decode disagree; the graphics driver may be broken, update it',
      { details: { chunk: whole, steps: parts } },
    );
  }
}

async function bestLogprob(
  backend: Backend,
  prompt: readonly number[],
  chunk: number,
): Promise<{ id: number; logprob: number }> {
  const sequence = backend.openSequence({ sampling: NEUTRAL_SAMPLING, logprobs: 1 });
  try {
    const step = (input: readonly number[], sample: boolean) =>
      backend.step([{ sequence, input, sample, isPrompt: true }]);
    let result = await step(prompt.slice(0, chunk), chunk === prompt.length);
    for (let at = chunk; at < prompt.length; at++) result = await step([prompt[at]!], at === prompt.length - 1);
    const [row] = result.rows;
    return { id: row!.token!, logprob: row!.logprob! };
  } finally {
    backend.closeSequence(sequence);
  }
}
