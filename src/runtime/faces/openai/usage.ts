import type { Usage } from '../../../shared/generation.ts';
import type { RequestTrace } from '../../../shared/trace.ts';
import { e2e } from '../../metrics/e2e.ts';
import { decodeRate, prefillRate } from '../../metrics/rates.ts';
import { tpot } from '../../metrics/tpot.ts';
import { ttft, ttftParts, type TtftParts } from '../../metrics/ttft.ts';

/** What was measured of one request; a number that is not known is absent. Definitions: `docs/metrics.md`. */
export interface RequestTimings {
  request_id: string;
  ttft_ms?: number;
  /** Of the time to the first token. */
  ttft_parts_ms?: TtftParts;
  tpot_ms?: number;
  e2e_ms?: number;
  /** Computed prompt tokens a second. */
  prefill_tokens_per_second?: number;
  decode_tokens_per_second?: number;
  /** The seed that was used; absent for greedy decoding. */
  seed?: number;
}

/** Tokens of all answers of a request; the prompt counts once. */
export interface CompletionUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  /** Of the one answer, or of each of several. */
  tokenglass: RequestTimings | { choices: RequestTimings[] };
}

/** How one answer ended. */
export interface AnswerEnd {
  usage: Usage;
  trace: RequestTrace;
}

/** @param ends of every answer, by index; at least one
 *  @param prompts how many different prompts they answer */
export function toUsage(ends: readonly AnswerEnd[], prompts = 1): CompletionUsage {
  // Answers come in the order of the prompts, `n` each; the first of each has its prompt's numbers.
  const perPrompt = ends.length / prompts;
  const firsts = ends.filter((_, index) => index % perPrompt === 0);
  const promptTokens = sum(firsts.map(({ usage }) => usage.promptTokens));
  const completionTokens = sum(ends.map(({ usage }) => usage.completionTokens));
  const timings = ends.map(({ trace }) => timingsOf(trace));
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: sum(firsts.map(({ usage }) => usage.cachedTokens)) },
    tokenglass: timings.length === 1 ? timings[0]! : { choices: timings },
  };
}

function timingsOf(trace: RequestTrace): RequestTimings {
  const known = {
    ttft_ms: ttft(trace),
    ttft_parts_ms: ttftParts(trace),
    tpot_ms: tpot(trace),
    e2e_ms: e2e(trace),
    prefill_tokens_per_second: prefillRate(trace),
    decode_tokens_per_second: decodeRate(trace),
    seed: trace.seed,
  };
  const present = Object.entries(known).filter(([, value]) => value !== undefined);
  return { request_id: trace.requestId, ...(Object.fromEntries(present) as Omit<RequestTimings, 'request_id'>) };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
