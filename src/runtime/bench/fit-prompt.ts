import type { GenerateRequest } from '../../shared/generation.ts';
import { TokenglassError } from '../../shared/errors.ts';
import type { Engine } from '../engine/engine.ts';

/** Plain English, so that the token count of a prefix grows with nearly every word whatever the tokenizer. */
const FILLER = (
  'A person who waits for an answer sees two numbers. The first is the time until the first word appears. The second is the time ' +
  'between one word and the next. A machine that serves many people at once is judged by a third number, the words it gives in all. ' +
  'These pull against each other, and a good design shows where it stands. Read the prompt, keep what was computed, and take one step at a time. '
).split(' ');

/** Words of one or few tokens that are appended when whole filler words overshoot the wanted count. */
const FILLERS_OF_LAST_RESORT = [' a', ' I', '.', ' 1', '!', ' x', '\n', ' the'];

/**
 * A request whose prompt, chat template included, has exactly `tokens` tokens as the engine counts them.
 * @param raw without the chat template
 * @param variant another number gives another text, so that prompts share no prefix beyond the template's own
 * @throws RangeError if the template alone is longer, or no text of that count is found
 */
export async function fitPrompt(
  engine: Engine,
  tokens: number,
  { raw = false, variant = 0 }: { raw?: boolean; variant?: number } = {},
): Promise<Pick<GenerateRequest, 'messages' | 'prompt'>> {
  const request = (text: string) => (raw ? { prompt: text } : { messages: [{ role: 'user' as const, content: text }] });
  const count = (text: string) => engine.countTokens(request(text));
  const opening = `${variant + 1}.`;
  const text = (words: number): string =>
    [opening, ...Array.from({ length: words }, (_, index) => FILLER[(index + variant * 7) % FILLER.length])].join(' ');

  let low = 0;
  let high = tokens;
  if ((await count(text(0))) > tokens)
    throw new RangeError(
      `Cannot make a prompt of ${tokens} tokens: the template and one word are longer; ask for more`,
    );
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((await count(text(middle))) <= tokens) low = middle;
    else high = middle - 1;
  }
  return request(await fillUp(text(low), tokens, count));
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
