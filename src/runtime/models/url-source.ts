import { abortError, TokenglassError } from '../../shared/errors.ts';
import type { ModelSource, OpenedFile } from './source.ts';

export interface UrlSourceOptions {
  /** What people call it. @default the base URL */
  id?: string;
  kind?: ModelSource['kind'];
  /** @default the global `fetch` */
  fetch?: typeof globalThis.fetch;
}

/** What `open` takes besides the path. */
type OpenOptions = NonNullable<Parameters<ModelSource['open']>[1]>;

/**
 * Model files under a base URL: `open('onnx/model_q4.onnx')` fetches that path below it. Bytes are streamed; a server that ignores
 * the range asked for is put right here.
 *
 * @param baseUrl absolute, or relative to the page; a `/` is put at its end if there is none
 * @throws TypeError if the URL cannot be parsed
 */
export function createUrlSource(baseUrl: string | URL, options: UrlSourceOptions = {}): ModelSource {
  const base = parseBase(baseUrl);
  return {
    id: options.id ?? base.href,
    kind: options.kind ?? 'url',
    open: (path, open = {}) => fetchFile(new URL(path, base), open, options.fetch),
  };
}

function parseBase(baseUrl: string | URL): URL {
  const page = typeof location === 'undefined' ? undefined : location.href;
  const base = new URL(baseUrl, page);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

/** One GET for a model file, with errors in our codes. Used by every source that fetches. */
export async function fetchFile(
  url: URL,
  { start = 0, end, signal }: OpenOptions = {},
  fetchFunction: typeof globalThis.fetch = globalThis.fetch.bind(globalThis),
): Promise<OpenedFile> {
  const ranged = start > 0 || end !== undefined;
  const headers: Record<string, string> = ranged
    ? { Range: `bytes=${start}-${end === undefined ? '' : String(end - 1)}` }
    : {};
  let response: Response;
  try {
    response = await fetchFunction(url, { headers, ...(signal && { signal }) });
  } catch (cause) {
    throw fetchError(url, cause, signal);
  }
  refuse(url, response);
  const body = response.body ?? new Blob([]).stream();
  const skipped = response.status === 206 ? 0 : start;
  const length = end === undefined ? undefined : end - start;
  const etag = response.headers.get('ETag') ?? undefined;
  const totalBytes = fileBytes(response);
  return {
    stream: checked(url, body, { skip: skipped, length, ...(signal && { signal }) }),
    ...(totalBytes !== undefined && { totalBytes }),
    ...(etag !== undefined && { etag }),
  };
}

/** Bytes of the whole file; a compressed response tells another length than that of its bytes. */
function fileBytes(response: Response): number | undefined {
  const encoding = response.headers.get('Content-Encoding');
  if (encoding !== null && encoding !== 'identity') return undefined;
  const text =
    response.status === 206
      ? response.headers.get('Content-Range')?.split('/')[1]
      : response.headers.get('Content-Length');
  const bytes = Number(text ?? Number.NaN);
  return Number.isSafeInteger(bytes) && text !== '' ? bytes : undefined;
}

function refuse(url: URL, response: Response): void {
  const details = { url: url.href, status: response.status };
  if (response.status === 404 || response.status === 410) {
    const message = `Cannot load ${url.href}: there is no such file (HTTP ${response.status}); check the name of the model`;
    throw new TokenglassError('model-not-found', message, { details });
  }
  if (!response.ok) {
    const message = `Cannot load ${url.href}: the server answered HTTP ${response.status}; try again later, or check access to it`;
    throw new TokenglassError('network', message, { details });
  }
  // Many hosts answer every unknown path with the page of their app.
  if (/^text\/html\b/i.test(response.headers.get('Content-Type') ?? '')) {
    const message = `Cannot load ${url.href}: the server answered with a web page, not a model file; check the URL`;
    throw new TokenglassError('model-not-found', message, { details });
  }
}

function fetchError(url: URL, cause: unknown, signal?: AbortSignal): Error {
  if (signal?.aborted) return abortError(signal);
  const message = `Cannot load ${url.href}: the connection failed; check the network and try again`;
  return new TokenglassError('network', message, { cause, details: { url: url.href } });
}

/** The body from `skip` on and for `length` bytes, with the errors of a broken or aborted transfer in our codes. */
function checked(
  url: URL,
  body: ReadableStream<Uint8Array>,
  { skip, length = Infinity, signal }: { skip: number; length?: number | undefined; signal?: AbortSignal },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let toSkip = skip;
  let left = length;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const { done, value } = await reader.read().catch((cause: unknown) => {
          throw fetchError(url, cause, signal);
        });
        if (done) {
          controller.close();
          return;
        }
        const chunk = value.subarray(Math.min(toSkip, value.length)).subarray(0, left);
        toSkip -= Math.min(toSkip, value.length);
        left -= chunk.length;
        if (chunk.length > 0) controller.enqueue(chunk);
        if (left === 0) {
          controller.close();
          await reader.cancel();
          return;
        }
        if (chunk.length > 0) return;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
