import { modelE2e } from './e2e.ts';

/** What is asked of the model of latency. */
export interface LatencyScenario {
  /** Prompt tokens to compute; with {@link prefillTokensPerSecond} they make the TTFT. @default 0 */
  promptTokens?: number;
  /** Output tokens, at least 1. */
  outputTokens: number;
  /** Time between tokens of one user, ms: the measured TPOT, or another one. */
  itlMs: number;
  /** Time to first token apart from reading the prompt: queue, tokenizer, delivery; or all of it. ms @default 0 */
  ttftMs?: number;
  /** @default reading the prompt takes no time */
  prefillTokensPerSecond?: number;
  /** Users that ask at the same moment. @default 1 */
  concurrency?: number;
  /** Requests that run at once, at the same ITL each; the others wait their turn. @default `concurrency`: all in one batch */
  slots?: number;
}

export interface LatencyForecast {
  /** Of a request that does not wait for others, ms. */
  ttftMs: number;
  /** TTFT + (out - 1) * TPOT of such a request, ms. */
  e2eMs: number;
  /** Of those that wait longest for a slot, ms. */
  worstTtftMs: number;
  worstE2eMs: number;
  /** 1000 / TPOT: what one user reads. Absent for an ITL of 0. */
  decodeTokensPerSecond?: number;
  /** All users' output / the time until the last has it: what the machine makes. Absent if that takes no time. */
  systemTokensPerSecond?: number;
}

/**
 * The model of latency: E2E = TTFT + (out - 1) * TPOT, with TTFT = fixed part + prompt / prefill rate, and waves of `slots` requests.
 * @throws RangeError for a negative or missing number, no output, or no slot
 */
export function forecast(scenario: LatencyScenario): LatencyForecast {
  const { outputTokens, itlMs, concurrency = 1, slots = concurrency } = scenario;
  check('outputTokens', outputTokens, 1);
  check('itlMs', itlMs, 0);
  check('concurrency', concurrency, 1);
  check('slots', slots, 1);
  const ttftMs = ttftOf(scenario);
  const e2eMs = modelE2e(ttftMs, outputTokens, itlMs);
  const waitMs = (Math.ceil(concurrency / slots) - 1) * e2eMs;
  const worstE2eMs = waitMs + e2eMs;
  return {
    ttftMs,
    e2eMs,
    worstTtftMs: waitMs + ttftMs,
    worstE2eMs,
    ...(itlMs > 0 && { decodeTokensPerSecond: 1000 / itlMs }),
    ...(worstE2eMs > 0 && { systemTokensPerSecond: (concurrency * outputTokens * 1000) / worstE2eMs }),
  };
}

/** Limits that an answer is to keep, and what is known of it. */
export interface SloQuestion extends Omit<LatencyScenario, 'outputTokens' | 'itlMs' | 'concurrency' | 'slots'> {
  /** End-to-end, inclusive, ms. */
  e2eLimitMs: number;
  /** For the most output tokens. */
  itlMs?: number;
  /** For the ITL that is needed. */
  outputTokens?: number;
}

export interface SloAnswer {
  ttftMs: number;
  /** Most output tokens within the limit at that ITL: 0 if not even the first comes in time. Absent without an ITL, or for one of 0. */
  maxOutputTokens?: number;
  /** Largest ITL, ms, at which that many tokens come in time. Absent without a number of tokens, for one token, and if no ITL will do. */
  neededItlMs?: number;
}

/** The model of latency the other way round. @throws RangeError as {@link forecast} */
export function solveSlo(question: SloQuestion): SloAnswer {
  const { e2eLimitMs, itlMs, outputTokens } = question;
  check('e2eLimitMs', e2eLimitMs, 0);
  if (itlMs !== undefined) check('itlMs', itlMs, 0);
  if (outputTokens !== undefined) check('outputTokens', outputTokens, 1);
  const ttftMs = ttftOf(question);
  const leftMs = e2eLimitMs - ttftMs;
  // 0.1 + 0.2 is not 0.3: a limit that is met exactly must not be missed by rounding.
  const gaps = itlMs !== undefined && itlMs > 0 ? Math.floor(leftMs / itlMs + 1e-9) : undefined;
  return {
    ttftMs,
    ...(gaps !== undefined && { maxOutputTokens: leftMs < 0 ? 0 : 1 + gaps }),
    ...(outputTokens !== undefined && outputTokens > 1 && leftMs >= 0 && { neededItlMs: leftMs / (outputTokens - 1) }),
  };
}

/**
 * Price of a million output tokens, in the currency of the price.
 * @param pricePerHour of the machine
 * @param systemTokensPerSecond all users together
 * @throws RangeError for a negative price or a rate that is not above 0
 */
export function costPerMillionTokens(pricePerHour: number, systemTokensPerSecond: number): number {
  check('pricePerHour', pricePerHour, 0);
  check('systemTokensPerSecond', systemTokensPerSecond, Number.MIN_VALUE);
  return (pricePerHour / (systemTokensPerSecond * 3600)) * 1e6;
}

function ttftOf({
  ttftMs = 0,
  promptTokens = 0,
  prefillTokensPerSecond,
}: Pick<LatencyScenario, 'ttftMs' | 'promptTokens' | 'prefillTokensPerSecond'>): number {
  check('ttftMs', ttftMs, 0);
  check('promptTokens', promptTokens, 0);
  if (prefillTokensPerSecond === undefined) return ttftMs;
  check('prefillTokensPerSecond', prefillTokensPerSecond, Number.MIN_VALUE);
  return ttftMs + (promptTokens * 1000) / prefillTokensPerSecond;
}

function check(name: string, value: number, least: number): void {
  if (!(value >= least && value < Infinity))
    throw new RangeError(
      `Cannot forecast latency: ${name} is ${value}; give a number ${least > 0 && least < 1 ? 'above 0' : `of at least ${least}`}`,
    );
}
