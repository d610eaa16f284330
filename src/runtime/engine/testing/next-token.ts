import type { SequenceOptions } from '../../backends/backend.ts';
import { END_ID } from './byte-tokenizer.ts';

/** What a sequence of the fake backend holds. */
export interface History {
  tokens: readonly number[];
  /** How many of them are the prompt. */
  promptLength: number;
}

/** The "model" of a {@link FakeBackend}: must depend on all tokens, so that every fault in what it is fed shows. */
export type NextToken = (history: History, options: SequenceOptions) => number;

const FIRST_PRINTABLE = 0x20;
const PRINTABLE = 95;

/**
 * Printable ASCII from a hash of every token, its position, where the prompt ends, and (when sampling) temperature and seed; an
 * end token now and then.
 */
export const hashedToken: NextToken = ({ tokens, promptLength }, { sampling }) => {
  let hash = mix(0x811c9dc5, promptLength);
  for (const token of tokens) hash = mix(hash, token);
  if (sampling.temperature > 0) hash = mix(mix(hash, sampling.seed), Math.round(sampling.temperature * 1000));
  const banned = new Set(
    Object.entries(sampling.logitBias).flatMap(([id, bias]) => (bias <= -100 ? [Number(id)] : [])),
  );
  if (hash % 31 === 0 && !banned.has(END_ID)) return END_ID;
  for (let step = 0; ; step++) {
    const id = FIRST_PRINTABLE + (((hash >>> 8) + step) % PRINTABLE);
    if (!banned.has(id) || step === PRINTABLE) return id;
  }
};

/**
 * A text that repeats itself, mostly: what follows depends on the two tokens before, but at every fourth place or so on all of them. Sampling too
 * makes the odd token another one.
 */
export const repetitiveToken: NextToken = (history, options) => {
  const whole = hashedToken(history, options);
  const { tokens } = history;
  if (whole % 4 === 0 || whole === END_ID) return whole;
  const hash = mix(mix(0x811c9dc5, tokens.at(-1) ?? 0), tokens.at(-2) ?? 0);
  return FIRST_PRINTABLE + (hash % 5);
};

/** Answers `ids` and then end tokens, whatever the prompt; "?" for ever once the output so far is not what it had answered. */
export const scriptedTokens =
  (ids: readonly number[]): NextToken =>
  ({ tokens, promptLength }) => {
    const output = tokens.slice(promptLength);
    const isExpected = output.every((id, index) => id === (ids[index] ?? END_ID));
    return isExpected ? (ids[output.length] ?? END_ID) : '?'.charCodeAt(0);
  };

/** A step of FNV-1a over 32-bit words, with an extra shift so that low bits depend on all. */
function mix(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x01000193);
  return (product ^ (product >>> 15)) >>> 0;
}
