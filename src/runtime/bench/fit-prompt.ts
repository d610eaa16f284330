import type { ChatMessage, GenerateRequest } from '../../shared/generation.ts';
import { TokenglassError } from '../../shared/errors.ts';
import type { Engine } from '../request/engine.ts';

/** Plain English, so that the token count of a prefix grows with nearly every word whatever the tokenizer. */
const FILLER = (
  'A person who waits for an answer sees two numbers. The first is the time until the first word appears. The second is the time ' +
  'between one word and the next. A machine that serves many people at once is judged by a third number, the words it gives in all. ' +
  'These pull against each other, and a good design shows where it stands. Read the prompt, keep what was computed, and take one step at a time. '
)
  .trim()
  .split(' ');

/** Words of one or few tokens that are appended when whole filler words overshoot the wanted count. */
const FILLERS_OF_LAST_RESORT = [' a', ' I', '.', ' 1', '!', ' x', '\n', ' the'];

export interface FitOptions {
  /** Without the chat template. @default false */
  raw?: boolean;
  /** Another number gives another text, so that prompts share no prefix beyond the template's own. @default 0 */
  variant?: number;
  /** Share of the words (0 to 1) that every variant begins with. @default 0 */
  sharedShare?: number;
  /** What was said before; its tokens count. @default nothing */
  history?: readonly ChatMessage[];
  /** Take the shortest prompt there is where the template and history alone are longer than what was asked for. @default false */
  orShortest?: boolean;
}

/** A prompt and what it counts: what was asked for, unless only the shortest one was to be had. */
export interface FittedPrompt {
  input: Pick<GenerateRequest, 'messages' | 'prompt'>;
  tokens: number;
}

/**
 * A request whose prompt, chat template included, has exactly `tokens` tokens as the engine counts them.
 * @throws RangeError if the template alone is longer (unless `orShortest`); TokenglassError `unsupported` if no text of that count is found
 */
export async function fitPrompt(engine: Engine, tokens: number, options: FitOptions = {}): Promise<FittedPrompt> {
  const { raw = false, variant = 0, sharedShare = 0, history = [], orShortest = false } = options;
  const said = history.map(({ content }) => content).join('\n');
  const input = (text: string) =>
    raw
      ? { prompt: said ? `${said}\n${text}` : text }
      : { messages: [...history, { role: 'user' as const, content: text }] };
  const count = (text: string): Promise<number> => engine.countTokens(input(text));
  const text = (words: number): string => fillerText(words, variant, sharedShare);

  const leastTokens = await count(text(0));
  if (leastTokens > tokens) {
    if (orShortest) return { input: input(text(0)), tokens: leastTokens };
    throw new RangeError(
      `Cannot make a prompt of ${tokens} tokens: the template and one word are ${leastTokens}; ask for more`,
    );
  }
  const words = await mostWords(tokens, leastTokens, (number) => count(text(number)));
  return { input: input(await fillUp(text(words), tokens, count)), tokens };
}

/** Shared words, then a number that no other variant has, then words in another order. */
function fillerText(words: number, variant: number, sharedShare: number): string {
  const shared = Math.round(words * sharedShare);
  const word = (index: number): string => FILLER[index % FILLER.length]!;
  const own = sharedShare < 1 ? [`${variant + 1}.`] : [];
  return [
    ...Array.from({ length: shared }, (_, index) => word(index)),
    ...(shared + own.length === 0 ? [word(0)] : own),
    ...Array.from({ length: words - shared }, (_, index) => word(index + variant * 7)),
  ].join(' ');
}

/**
 * The most words whose text has at most `tokens` tokens. Counts grow almost linearly with words, so the next guess is interpolated: a
 * handful of counts, where halving would take a dozen, each a question to a worker.
 */
async function mostWords(
  tokens: number,
  leastTokens: number,
  count: (words: number) => Promise<number>,
): Promise<number> {
  let low = { words: 0, tokens: leastTokens };
  let high = { words: tokens + 1, tokens: Infinity };
  let guess = Math.round((tokens - leastTokens) / 1.3);
  while (high.words - low.words > 1 && low.tokens < tokens) {
    const words = Math.min(Math.max(guess, low.words + 1), high.words - 1);
    const found = { words, tokens: await count(words) };
    if (found.tokens <= tokens) low = found;
    else high = found;
    const slope = low.words > 0 ? (low.tokens - leastTokens) / low.words : 1.3;
    guess = low.words + Math.round((tokens - low.tokens) / Math.max(slope, 0.1));
    if (found === high && guess >= high.words) guess = (low.words + high.words) >> 1;
  }
  return low.words;
}

/** Appends short pieces until the count is exact; each must add at least one token and not overshoot. */
async function fillUp(text: string, tokens: number, count: (text: string) => Promise<number>): Promise<string> {
  let current = await count(text);
  while (current < tokens) {
    let grown: { text: string; count: number } | undefined;
    for (const piece of FILLERS_OF_LAST_RESORT) {
      const next = await count(text + piece);
      if (next > current && next <= tokens) {
        grown = { text: text + piece, count: next };
        break;
      }
    }
    if (!grown)
      throw new TokenglassError(
        'unsupported',
        `Cannot make a prompt of exactly ${tokens} tokens: this tokenizer skips from ${current}; ask for another count`,
      );
    ({ text, count: current } = grown);
  }
  return text;
}
