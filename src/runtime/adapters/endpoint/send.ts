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
  /** Takes keys out of what a server says, as it may send back what it was sent. */
  redact: (text: string) => string;
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
  { fetch, maxRetries, sleep, now, redact }: SendOptions,
  onAttempt: () => void = () => undefined,
): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    onAttempt();
    const outcome = await attemptOnce(fetch, url, init);
    if (outcome instanceof Response && outcome.ok) return outcome;
    const error =
      outcome instanceof Response ? errorOfResponse(outcome.status, redact(await textOf(outcome))) : outcome;
    const isTemporary = outcome instanceof Response ? NOT_NOW.has(outcome.status) : !outcome.details['redirect'];
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
    const response = await fetch(url, { ...init, redirect: 'manual' });
    if (isRedirect(response)) return redirected(url, response);
    return response;
  } catch (cause) {
    init.signal.throwIfAborted();
    return new TokenglassError(
      'network',
      `Cannot generate: ${new URL(url).host} cannot be reached; check baseURL, the connection, and that the server allows this page (CORS)`,
      { cause },
    );
  }
}

/** In a page a redirect that is not followed has no status and tells no address; elsewhere it has both. */
const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400);

/** A key and a prompt are for the host that was named, and go to no other because that one says so. */
function redirected(url: string, response: Response): TokenglassError {
  const { host } = new URL(url);
  const location = response.headers.get('Location');
  const to = location !== null && URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : '';
  void response.body?.cancel().catch(() => undefined);
  return new TokenglassError(
    'network',
    `Cannot generate: ${host} redirects${to}, and neither prompt nor key is sent on; give the address it leads to as baseURL`,
    { details: { redirect: true } },
  );
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
