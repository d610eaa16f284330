import type { Fetch } from '../send.ts';

/** A piece of a body: bytes or text, or something to do before the next one. */
export type Piece = string | Uint8Array | (() => void);

/** What the server does with one request. */
export type Reply = Response | { pieces: readonly Piece[]; type?: string; drop?: boolean };

export interface ScriptedServer {
  fetch: Fetch;
  /** Every request, in order; those for the list of models left out. */
  requests: { url: string; headers: Record<string, string>; body: Record<string, unknown> }[];
}

/** A server that answers requests one after the other with what is written down. */
export function scriptedServer(replies: readonly Reply[], model: Record<string, unknown> = {}): ScriptedServer {
  const requests: ScriptedServer['requests'] = [];
  return {
    requests,
    fetch: (url, { headers, body }) => {
      if (url.endsWith('/models')) return Promise.resolve(Response.json({ data: [{ id: 'm', ...model }] }));
      const reply = replies[requests.length];
      requests.push({
        url,
        headers: headers as Record<string, string>,
        body: JSON.parse(body as string) as Record<string, unknown>,
      });
      if (reply === undefined) return Promise.reject(new TypeError('Failed to fetch'));
      return Promise.resolve(reply instanceof Response ? reply : streamed(reply));
    },
  };
}

/** An event of a stream. */
export const event = (data: unknown): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

/** An event of chat with text. */
export const said = (content: string, more: object = {}): string =>
  event({ choices: [{ index: 0, delta: { content }, ...more }] });

export const FINISHED = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
export const DONE = event('[DONE]');

function streamed({ pieces, type = 'text/event-stream', drop = false }: Exclude<Reply, Response>): Response {
  const utf8 = new TextEncoder();
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        for (;;) {
          const piece = left.shift();
          if (typeof piece === 'function') piece();
          else if (piece !== undefined) {
            controller.enqueue(typeof piece === 'string' ? utf8.encode(piece) : piece);
            return;
          } else {
            if (drop) controller.error(new TypeError('network error'));
            else controller.close();
            return;
          }
        }
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'Content-Type': type } });
}
