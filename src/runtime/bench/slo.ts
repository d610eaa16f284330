import { percentile } from '../metrics/percentile.ts';
import type { Sample } from './sample.ts';

/** Limits that a request must all meet (inclusive) to count as good. */
export interface Slo {
  name: string;
  ttftMs?: number;
  tpotMs?: number;
  /** Of the gaps of the request. */
  itlP95Ms?: number;
  e2eMs?: number;
}

/** Each limit with its unit-free name for people. */
export const SLO_LIMITS = [
  ['ttftMs', 'TTFT'],
  ['tpotMs', 'TPOT'],
  ['itlP95Ms', 'ITL p95'],
  ['e2eMs', 'E2E'],
] as const;

export type SloLimit = (typeof SLO_LIMITS)[number][0];

/** SLOs by name. */
export const SLOS = {
  /** An answer that feels like a chat: the first token at once, then faster than one reads. */
  chat: { name: 'chat', ttftMs: 300, tpotMs: 40 },
  /** An answer that can be read along with. */
  reading: { name: 'reading', ttftMs: 1000, tpotMs: 100 },
} as const satisfies Record<string, Slo>;

const KEYS: Readonly<Record<string, SloLimit>> = {
  ttft: 'ttftMs',
  tpot: 'tpotMs',
  'itl-p95': 'itlP95Ms',
  e2e: 'e2eMs',
};

/**
 * A name (`chat`, `reading`), or limits in ms: `ttft=300,tpot=40,itl-p95=60,e2e=5000`.
 * @throws RangeError in words
 */
export function parseSlo(text: string): Slo {
  const named = Object.hasOwn(SLOS, text) ? SLOS[text as keyof typeof SLOS] : undefined;
  if (named) return named;
  const slo: Slo = { name: 'own' };
  for (const part of text.split(',')) {
    const [key = '', value = ''] = part.split('=').map((side) => side.trim());
    const limit = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
    if (!limit || !(Number(value) > 0))
      throw new RangeError(
        `Cannot read the SLO "${text}": take ${Object.keys(SLOS).join(' or ')}, or limits in ms such as ttft=300,tpot=40 (${Object.keys(KEYS).join(', ')})`,
      );
    slo[limit] = Number(value);
  }
  return slo;
}

/** @throws RangeError for an SLO without a limit, or with one that is no time */
export function checkSlo(slo: Slo): void {
  const limits = SLO_LIMITS.flatMap(([limit]) => slo[limit] ?? []);
  if (limits.length === 0 || limits.some((limit) => !(limit > 0)))
    throw new RangeError(`Cannot use the SLO "${slo.name}": it needs at least one limit, each above 0 ms`);
}

type Judged = Pick<Sample, 'ttftMs' | 'tpotMs' | 'e2eMs' | 'itlMs' | 'outputTokens'>;

/** A request whose figure is absent has not shown that it met the limit; but an answer of one token has no gap that could be too long. */
export function meetsLimit(sample: Judged, slo: Slo, limit: SloLimit): boolean {
  const limitMs = slo[limit];
  if (limitMs === undefined) return true;
  if (sample.outputTokens === 1 && (limit === 'tpotMs' || limit === 'itlP95Ms')) return true;
  const value = limit === 'itlP95Ms' ? percentile(sample.itlMs, 95) : sample[limit];
  return value !== undefined && value <= limitMs;
}

/** Whether a request met every limit, inclusive. */
export const meetsSlo = (sample: Judged, slo: Slo): boolean =>
  SLO_LIMITS.every(([limit]) => meetsLimit(sample, slo, limit));

/** In words, short: `chat: TTFT 300 ms, TPOT 40 ms`. */
export function describeSlo(slo: Slo): string {
  const limits = SLO_LIMITS.flatMap(([limit, name]) => (slo[limit] === undefined ? [] : `${name} ${slo[limit]} ms`));
  return `${slo.name}: ${limits.join(', ')}`;
}
