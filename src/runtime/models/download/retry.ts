import { abortError, isTokenglassError } from '../../../shared/errors.ts';

/** When a download that broke off is taken up again. */
export interface RetryPolicy {
  /** Before the second attempt; doubles from one to the next. */
  firstDelayMs: number;
  /** Longest wait that we choose ourselves. */
  maxDelayMs: number;
  /** Attempts in a row that may bring no byte before the download fails. */
  maxFailures: number;
  /** Longest wait that a server may ask for (`Retry-After`); beyond, the download fails at once. */
  maxRetryAfterMs: number;
  /** A connection that sends nothing for so long is given up and taken up anew; `Infinity` waits for ever. */
  stallMs: number;
  /** Waits, or less if the network comes back meanwhile. @throws AbortError */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls back once `ms` have passed, unless the returned function is called before. */
  after: (ms: number, then: () => void) => () => void;
  /** From 0 to 1: spreads the waits of many visitors. */
  random: () => number;
}

/** About a minute and a half without a byte until a download fails; more where connections are silent rather than refused. */
export const DEFAULT_RETRY: RetryPolicy = {
  firstDelayMs: 500,
  maxDelayMs: 30_000,
  maxFailures: 9,
  maxRetryAfterMs: 120_000,
  stallMs: 30_000,
  after: (ms, then) => {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
  sleep: sleepOrOnline,
  random: Math.random,
};

/**
 * Milliseconds to wait after `failures` attempts in a row (at least 1) failed, the last with `error`; undefined if it should not be tried
 * again: it is none of the network, or the server was clear.
 */
export function retryDelay(error: unknown, failures: number, policy: RetryPolicy): number | undefined {
  if (!isTokenglassError(error, 'network') || failures >= policy.maxFailures) return undefined;
  const { status, retryAfterMs } = error.details as { status?: number; retryAfterMs?: number };
  if (status !== undefined && status >= 400 && status < 500 && ![408, 425, 429].includes(status)) return undefined;
  const backOffMs = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (failures - 1));
  const spread = backOffMs * (0.5 + policy.random() / 2);
  if (retryAfterMs === undefined) return spread;
  return retryAfterMs > policy.maxRetryAfterMs ? undefined : Math.max(retryAfterMs, spread);
}

function sleepOrOnline(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      globalThis.removeEventListener('online', wake);
      settle();
    };
    const wake = finish(resolve);
    const abort = finish(() => reject(abortError(signal)));
    const timer = setTimeout(wake, ms);
    globalThis.addEventListener('online', wake);
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
  });
}
