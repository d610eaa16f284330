import { TokenglassError } from '../../../shared/errors.ts';
import { errorOfResponse } from './server-error.ts';

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

export interface SendOptions {
  fetch: Fetch;
  /** Attempts after the first. */
  maxRetries: number;
  /** Waits; rejects when the signal is aborted. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the Unix epoch, for a `Retry-After` that is a date. */
  now: () => number;
}

/** Statuses that say "not now": nothing was generated, so asking again is safe. */
const NOT_NOW: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_WAIT_MS = 500;
/** A server that wants longer is better told to the caller. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Sends a request until there is a response to read, again only where the server has not begun to answer.
 * @param onAttempt called before each attempt
 * @throws TokenglassError for a status that is not 2xx, or `network` where there is no response; `AbortError`
 */
export async function send(
  url: string,
  init: RequestInit & { signal: AbortSignal },
  { fetch, maxRetries, sleep, now }: SendOptions,
  onAttempt: () => void = () => undefined,
): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    onAttempt();
    const outcome = await attemptOnce(fetch, url, init);
    if (outcome instanceof Response && outcome.ok) return outcome;
    const error = outcome instanceof Response ? errorOfResponse(outcome.status, await textOf(outcome)) : outcome;
    const isTemporary = !(outcome instanceof Response) || NOT_NOW.has(outcome.status);
    if (!isTemporary || attempt >= maxRetries) throw error;
    const asked = outcome instanceof Response ? retryAfterMs(outcome.headers.get('Retry-After'), now()) : undefined;
    const waitMs = asked ?? FIRST_WAIT_MS * 2 ** attempt;
    if (waitMs > LONGEST_WAIT_MS) throw error;
    await sleep(waitMs, init.signal);
  }
}

async function attemptOnce(
  fetch: Fetch,
  url: string,
  init: RequestInit & { signal: AbortSignal },
): Promise<Response | TokenglassError> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    init.signal.throwIfAborted();
    return new TokenglassError(
      'network',
      `Cannot generate: ${new URL(url).host} cannot be reached; check baseURL, the connection, and that the server allows this page (CORS)`,
      { cause },
    );
  }
}

/** A body that breaks off says as much as it says. */
const textOf = (response: Response): Promise<string> => response.text().catch(() => '');

/** Seconds or a date (RFC 9110, 10.2.3); absent if there is none, or nothing that can be read. */
export function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  if (value === null || value.trim() === '') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** The default of `sleep`. */
export function sleepUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- whatever the caller aborted with
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
