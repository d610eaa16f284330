import { TokenglassError } from '../../shared/errors.ts';

/** No tokenizer we run has a piece longer than this (runs of 128 spaces and the like are the longest met). */
export const MAX_CHARS_PER_TOKEN = 256;

/** @param bounds `atLeast`: the prompt was not tokenized, its count is a lower bound */
export function contextOverflow(
  promptTokens: number,
  contextTokens: number,
  bounds: { atLeast?: boolean } = {},
): TokenglassError {
  const count = `${bounds.atLeast ? 'at least ' : ''}${promptTokens}`;
  return new TokenglassError(
    'context-overflow',
    `Cannot generate: the prompt has ${count} tokens and the context holds ${contextTokens}, the answer included; shorten the prompt`,
    { details: { promptTokens, contextTokens, ...bounds } },
  );
}
