import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { TokenglassError } from '../../../shared/errors.ts';

/** Longest event that is waited for, in characters; a server that sends more without an end is broken. */
const MAX_EVENT = 4_000_000;

/**
 * The JSON of each event of a response, in order; a response that is one JSON document gives that. Ends after `[DONE]`, or where the body does;
 * what that means is the caller's to say.
 *
 * @throws TokenglassError `network` for a body that is neither, and one that breaks off
 */
export async function* readEvents(response: Response): AsyncGenerator<unknown, { done: boolean }, undefined> {
  const type = response.headers.get('Content-Type') ?? '';
  if (/json/i.test(type) && !/event-stream|ndjson/i.test(type)) {
    yield parse(await response.text());
    return { done: true };
  }
  if (/html/i.test(type) || response.body === null) throw notAnApi();
  let waiting: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => waiting.push(event),
    onError: (cause) => {
      if (cause.type === 'max-buffer-size-exceeded') throw broken('an event has no end', cause);
    },
    maxBufferSize: MAX_EVENT,
  });
  for await (const text of textPieces(response.body)) {
    parser.feed(text);
    const events = waiting;
    waiting = [];
    for (const { data } of events) {
      if (data === '[DONE]') return { done: true };
      yield parse(data);
    }
  }
  return { done: false };
}

/** Text of a body, in pieces that tear no character. */
async function* textPieces(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const utf8 = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw cause instanceof DOMException && cause.name === 'AbortError'
          ? cause
          : broken('the connection broke', cause);
      });
      if (done) break;
      yield utf8.decode(value, { stream: true });
    }
    yield utf8.decode();
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch (cause) {
    if (/^\s*</.test(data)) throw notAnApi();
    throw broken('an event is no JSON', cause);
  }
}

export const broken = (what: string, cause?: unknown): TokenglassError =>
  new TokenglassError('network', `Cannot go on: ${what} before the answer was complete; try again`, { cause });

const notAnApi = (): TokenglassError =>
  new TokenglassError(
    'network',
    'Cannot generate: the server answers with a web page, not with events; check that baseURL is that of an OpenAI-compatible API (it often ends in /v1)',
  );
