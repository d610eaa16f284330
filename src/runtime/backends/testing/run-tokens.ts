import { NEUTRAL_SAMPLING, type SamplingParams } from '../../../shared/generation.ts';
import type { Backend, SequenceId, SequenceOptions, StepResult, StepRowResult } from '../backend.ts';

export const sequenceOptions = (sampling: SamplingParams = {}, logprobs = 0): SequenceOptions => ({
  sampling: { ...NEUTRAL_SAMPLING, ...sampling },
  logprobs,
});

export interface RunOptions {
  /** Tokens of a prefill chunk. @default as many as a step takes */
  chunk?: number;
  /** Steps in flight. @default 1 */
  runAhead?: number;
  /** Give the sampled token back as an id instead of as `'previous'`; not with run-ahead. @default false */
  explicit?: boolean;
}

/** Feeds the prompt to an open sequence and samples `count` tokens. */
export async function continueSequence(
  backend: Backend,
  sequence: SequenceId,
  prompt: readonly number[],
  count: number,
  options: RunOptions = {},
): Promise<StepRowResult[]> {
  const { chunk = backend.info.capabilities.maxStepTokens, runAhead = 1, explicit = false } = options;
  const results: StepRowResult[] = [];
  const inFlight: Promise<StepResult>[] = [];
  const take = async (): Promise<void> => {
    const row = (await inFlight.shift()!).rows[0]!;
    if (row.token !== undefined) results.push(row);
  };
  const give = async (input: readonly number[] | 'previous', sample: boolean, isPrompt: boolean): Promise<void> => {
    while (inFlight.length >= runAhead) await take();
    inFlight.push(backend.step([{ sequence, input, sample, isPrompt }]));
  };
  for (let start = 0; start < prompt.length; start += chunk)
    await give(prompt.slice(start, start + chunk), start + chunk >= prompt.length, true);
  for (let made = 1; made < count; made++) {
    if (explicit) while (inFlight.length > 0) await take();
    await give(explicit ? [results.at(-1)!.token!] : 'previous', true, false);
  }
  while (inFlight.length > 0) await take();
  return results;
}

/** The same in a sequence of its own, which is closed at the end. */
export async function runTokens(
  backend: Backend,
  prompt: readonly number[],
  count: number,
  sampling: SamplingParams = {},
  options: RunOptions = {},
): Promise<number[]> {
  const sequence = backend.openSequence(sequenceOptions(sampling));
  try {
    return (await continueSequence(backend, sequence, prompt, count, options)).map(({ token }) => token!);
  } finally {
    backend.closeSequence(sequence);
  }
}
