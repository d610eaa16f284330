import { TokenglassError } from '../../../shared/errors.ts';
import { NEUTRAL_SAMPLING } from '../../../shared/generation.ts';
import type { Backend } from '../backend.ts';
import type { PrefillPrecision } from './plan/autotune-chunks.ts';

/** More rows than fused steps take, so that a chunk goes through the tiled kernels. */
const PROMPT_TOKENS = 12;
/** Log-probabilities of the same position, computed by different kernels, differ by rounding only. */
const MOST_DIFFERENCE = 0.05;
/** The same where a chunk's arithmetic is coarser; a driver that miscompiles is off by far more. */
const MOST_DIFFERENCE_FAST = 0.5;

/**
 * Runs a short prompt in one chunk, and again partly token by token: two sets of kernels that must agree. Finds drivers that miscompile
 * before a user sees garbage, and warms up every pipeline on the way.
 *
 * @throws TokenglassError `numeric-fault`
 */
export async function selfCheck(backend: Backend, precision: PrefillPrecision = 'exact'): Promise<void> {
  const { vocabSize, contextTokens } = backend.info.model;
  const count = Math.min(PROMPT_TOKENS, contextTokens);
  const prompt = Array.from({ length: count }, (_, i) => (i * 31 + 7) % vocabSize);
  const most = precision === 'exact' ? MOST_DIFFERENCE : MOST_DIFFERENCE_FAST;
  const whole = await bestLogprob(backend, prompt, count);
  const parts = await bestLogprob(backend, prompt, Math.max(1, count - 2));
  if (!(Math.abs(whole.logprob - parts.logprob) <= most)) {
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
