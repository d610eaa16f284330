import { formatDuration } from '../internal/format.ts';

/** What is compared of two runs; whatever is absent is not spoken of. */
export interface LaneFigures {
  ttftMs?: number | undefined;
  /** Mean time of a token after the first. */
  tpotMs?: number | undefined;
  promptTokens?: number | undefined;
  /** Of the prompt, tokens that a prefix cache had. */
  cachedTokens?: number | undefined;
  text: string;
}

/** Smaller differences are noise to those who watch. */
const SAME_WITHIN = 1.05;

const times = (ratio: number): string =>
  `${ratio.toLocaleString(undefined, { maximumFractionDigits: ratio < 10 ? 1 : 0 })} times`;

/** The two runs in plain sentences; empty while there is nothing to compare. */
export function compareWords(a: LaneFigures, b: LaneFigures, nameA = 'A', nameB = 'B'): string[] {
  return [
    faster(a.ttftMs, b.ttftMs, nameA, nameB, {
      same: 'Both show their first word after about the same time',
      differs: (name, ratio) => `${name} shows its first word ${times(ratio)} sooner`,
    }),
    cached(a, b, nameA, nameB),
    faster(a.tpotMs, b.tpotMs, nameA, nameB, {
      same: 'Both write at about the same speed',
      differs: (name, ratio) => `${name} writes ${times(ratio)} as fast`,
    }),
    a.text !== '' && a.text === b.text ? 'Both say the very same words.' : undefined,
  ].filter((sentence) => sentence !== undefined);
}

/** Said where one had more of the prompt than the other: it explains the first word. */
function cached(a: LaneFigures, b: LaneFigures, nameA: string, nameB: string): string | undefined {
  const [ofA, ofB] = [a.cachedTokens, b.cachedTokens];
  if (ofA === undefined || ofB === undefined || ofA === ofB) return undefined;
  const [name, has, other] = ofA > ofB ? [nameA, a, ofB] : [nameB, b, ofA];
  const tokens = has.cachedTokens!.toLocaleString();
  const rest = other === 0 ? 'the other none' : `the other ${other.toLocaleString()}`;
  return `${name} had ${tokens} of ${has.promptTokens?.toLocaleString() ?? 'the'} prompt tokens in its cache, ${rest}.`;
}

function faster(
  a: number | undefined,
  b: number | undefined,
  nameA: string,
  nameB: string,
  words: { same: string; differs: (name: string, ratio: number) => string },
): string | undefined {
  if (a === undefined || b === undefined || !(a > 0 && b > 0)) return undefined;
  const [less, more] = a < b ? [a, b] : [b, a];
  const against = `(${formatDuration(less)} against ${formatDuration(more)})`;
  const ratio = more / less;
  if (ratio < SAME_WITHIN) return `${words.same} ${against}.`;
  return `${words.differs(a < b ? nameA : nameB, ratio)} ${against}.`;
}
