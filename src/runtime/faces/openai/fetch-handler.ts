import { TokenglassError } from '../../../shared/errors.ts';
import type { Engine } from '../../request/engine.ts';
import { invalid } from '../../../shared/check.ts';
import { toApiError, type ApiError } from './api-error.ts';
import { startChat } from './chat.ts';
import { startCompletion } from './completion.ts';
import { eventStream } from './event-stream.ts';

/** What a fetch of ours is about, besides the request itself. */
export interface FetchContext {
  engine: Engine;
  /** Seconds since the Unix epoch: what `/v1/models` says the model was created at. */
  createdAt: number;
  calledAtMs: number;
}

/**
 * A `fetch` for clients of OpenAI's API: whatever the host, the path says what is asked. Errors are responses, with OpenAI's statuses
 * and bodies; only an aborted signal rejects, as with the real one.
 */
export async function handleFetch(
  context: FetchContext,
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<Response> {
  const request = new Request(typeof input === 'string' ? new URL(input, 'http://localhost') : input, init);
  request.signal.throwIfAborted();
  try {
    return await respond(context, request);
  } catch (error) {
    request.signal.throwIfAborted();
    return errorResponse(toApiError(error));
  }
}

async function respond({ engine, createdAt, calledAtMs }: FetchContext, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, path = pathname] = /\/v1(\/.*)$/.exec(pathname) ?? [];
  if (path === '/models' || path.startsWith('/models/')) return models(engine, request, path, createdAt);
  const start = { '/chat/completions': startChat, '/completions': startCompletion }[path];
  if (!start) throw noSuchPath(path, pathname);
  requireMethod(request, 'POST');
  const { stream, chunks, whole, controller } = await start(engine, await readJson(request), {
    signal: request.signal,
    calledAtMs,
  });
  if (!stream) return Response.json(await whole());
  const body = eventStream(chunks(), toApiError, () => controller.abort());
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' },
  });
}

function models({ info }: Engine, request: Request, path: string, createdAt: number): Response {
  requireMethod(request, 'GET');
  const model = { id: info.model.id, object: 'model', created: createdAt, owned_by: 'tokenglass' };
  if (path === '/models') return Response.json({ object: 'list', data: [model] });
  const id = decodeURIComponent(path.slice('/models/'.length));
  if (id === model.id) return Response.json(model);
  throw new TokenglassError(
    'model-not-found',
    `Cannot find the model ${JSON.stringify(id)}: this engine has ${JSON.stringify(model.id)}`,
    { details: { field: 'model' } },
  );
}

async function readJson(request: Request): Promise<unknown> {
  const text = await request.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid('body', 'is no JSON', 'send a JSON object');
  }
}

function requireMethod({ method }: Request, wanted: string): void {
  if (method === wanted) return;
  throw new TokenglassError('invalid-request', `Cannot answer: the method is ${method}; use ${wanted}`, {
    details: { status: 405, apiCode: 'method_not_allowed' },
  });
}

function noSuchPath(path: string, pathname: string): TokenglassError {
  if (path === '/embeddings')
    return new TokenglassError('unsupported', 'Cannot embed: this engine has no embeddings; use another model server', {
      details: { status: 501, apiCode: 'not_implemented' },
    });
  return new TokenglassError(
    'invalid-request',
    `Cannot answer: there is nothing at ${pathname}; use /v1/chat/completions, /v1/completions or /v1/models`,
    { details: { status: 404, apiCode: 'unknown_url' } },
  );
}

function errorResponse({ status, body }: ApiError): Response {
  return Response.json(body, { status });
}
