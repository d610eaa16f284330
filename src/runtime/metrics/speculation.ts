import type { Usage } from '../../shared/generation.ts';
import type { StepTrace } from '../../shared/trace.ts';

/**
 * Share of drafted tokens that became output, 0 to 1. Absent where none were drafted. Low is no fault by itself: long drafts pay at lower rates
 * than short ones, where rows cost little.
 */
export function acceptanceRate({
  draftedTokens,
  acceptedTokens,
}: Pick<Usage, 'draftedTokens' | 'acceptedTokens'>): number | undefined {
  return draftedTokens === undefined || draftedTokens === 0 ? undefined : (acceptedTokens ?? 0) / draftedTokens;
}

/**
 * Output tokens of one request per step of decoding that it was alone in: 1 without drafts, more with them. The first token is the prefill's and
 * is left out. Absent without a step of decoding.
 * @param steps from the request's start to its end
 */
export function tokensPerStep(
  { completionTokens }: Pick<Usage, 'completionTokens'>,
  steps: readonly Pick<StepTrace, 'kind'>[],
): number | undefined {
  const decodes = steps.filter(({ kind }) => kind === 'decode').length;
  return decodes === 0 || completionTokens < 2 ? undefined : (completionTokens - 1) / decodes;
}

/** What drafts came to over steps of decoding. */
export interface SpeculationSummary {
  draftedTokens: number;
  acceptedTokens: number;
  /** Steps that verified drafts. */
  verifySteps: number;
  /** Output tokens of such a step, for each of its sequences. */
  tokensPerVerifyStep: number;
  /** ms for each output token of such steps: the gap that a reader has on average. Compare it with the plain one. */
  effectiveItlMs: number;
  /** ms for each token of plain steps; absent if there were none. */
  plainItlMs?: number;
  /** ms that the same tokens would have taken longer one by one, by the mean of the plain steps; negative if drafts cost more. Absent without those. */
  savedMs?: number;
}

/**
 * Sums up steps, prefills left out. Absent where none verified drafts. Times are those from one step's result to the next one's, as far as steps
 * follow each other without a pause.
 */
export function summarizeSpeculation(steps: readonly StepTrace[]): SpeculationSummary | undefined {
  let draftedTokens = 0;
  let acceptedTokens = 0;
  let verifySteps = 0;
  let verifyTokens = 0;
  let verifySequences = 0;
  let verifyMs = 0;
  let plainSteps = 0;
  let plainMs = 0;
  let lastEndMs = -Infinity;
  for (const step of steps) {
    const endMs = step.startedAtMs + step.timing.totalMs;
    const ownMs = Math.max(0, endMs - Math.max(step.startedAtMs, lastEndMs));
    lastEndMs = Math.max(lastEndMs, endMs);
    if (step.kind !== 'decode') continue;
    if (step.drafted === undefined) {
      plainSteps += 1;
      plainMs += ownMs;
      continue;
    }
    draftedTokens += step.drafted;
    acceptedTokens += step.accepted ?? 0;
    verifySteps += 1;
    verifySequences += step.batch;
    verifyTokens += step.batch + (step.accepted ?? 0);
    verifyMs += ownMs;
  }
  if (verifySteps === 0) return undefined;
  // Each sequence of a step waits for the whole step: a gap is the step's time by its tokens for each sequence.
  const tokensPerVerifyStep = verifyTokens / verifySequences;
  const plainItlMs = plainSteps === 0 ? undefined : plainMs / plainSteps;
  return {
    draftedTokens,
    acceptedTokens,
    verifySteps,
    tokensPerVerifyStep,
    effectiveItlMs: verifyMs / verifySteps / tokensPerVerifyStep,
    ...(plainItlMs !== undefined && {
      plainItlMs,
      savedMs: plainItlMs * tokensPerVerifyStep * verifySteps - verifyMs,
    }),
  };
}
