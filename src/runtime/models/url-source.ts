import { abortError, TokenglassError } from '../../shared/errors.ts';
import type { ModelSource, OpenedFile, OpenOptions } from './source.ts';

export interface UrlSourceOptions {
  /** What people call it. @default the base URL */
  id?: string;
  kind?: ModelSource['kind'];
  /** @default the global `fetch` */
  fetch?: typeof globalThis.fetch;
}

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
    open: (path, open = {}) => fetchFile(new URL(path, base), open, options.fetch ? { fetch: options.fetch } : {}),
  };
}

function parseBase(baseUrl: string | URL): URL {
  const page = typeof location === 'undefined' ? undefined : location.href;
  const base = new URL(baseUrl, page);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

/** How {@link fetchFile} asks. */
export interface FetchFileOptions {
  /** @default the global `fetch` */
  fetch?: typeof globalThis.fetch;
  /** Sent besides our own, an `Authorization` for example. */
  headers?: Readonly<Record<string, string>>;
}

/** One GET for a model file, with errors in our codes. Used by every source that fetches. */
export async function fetchFile(
  url: URL,
  { start = 0, end, ifRange, cache, signal }: OpenOptions = {},
  { fetch = globalThis.fetch.bind(globalThis), headers }: FetchFileOptions = {},
): Promise<OpenedFile> {
  if (url.protocol === 'data:') return openDataUrl(url, start, end);
  const ranged = start > 0 || end !== undefined;
  const range = { Range: `bytes=${start}-${end === undefined ? '' : String(end - 1)}` };
  // A weak validator may not be sent; the answer's own ETag is compared instead.
  const condition = ifRange !== undefined && !ifRange.startsWith('W/') && { 'If-Range': ifRange };
  let response: Response;
  try {
    response = await fetch(url, {
      headers: { ...headers, ...(ranged && { ...range, ...condition }) },
      ...(cache && { cache }),
      ...(signal && { signal }),
    });
  } catch (cause) {
    throw fetchError(url, cause, signal);
  }
  try {
    refuse(url, response, start);
  } catch (error) {
    void response.body?.cancel().catch(() => undefined);
    throw error;
  }
  const body = response.body ?? new Blob([]).stream();
  const etag = response.headers.get('ETag') ?? undefined;
  const isWhole = response.status !== 206;
  // A whole answer to a conditional range is either that of a host without ranges, or another version of the file.
  const isOther = ifRange !== undefined && isWhole && !isSameVersion(etag, ifRange);
  const length = isOther || end === undefined ? undefined : end - start;
  const totalBytes = fileBytes(response, url);
  const sha256 = linkedDigest(response.headers);
  return {
    stream: checked(url, body, { skip: isWhole && !isOther ? start : 0, length, ...(signal && { signal }) }),
    ...(totalBytes !== undefined && { totalBytes }),
    ...(etag !== undefined && { etag }),
    ...(sha256 !== undefined && { sha256 }),
    ...(isOther && { start: 0 }),
  };
}

/** A file that a bundler has put into the code: it is decoded here, as a page's policy may not let `data:` be fetched. */
function openDataUrl(url: URL, start: number, end: number | undefined): OpenedFile {
  const comma = url.href.indexOf(',');
  const content = url.href.slice(comma + 1);
  const isBase64 = /;base64$/i.test(url.href.slice(0, comma));
  const bytes = isBase64
    ? Uint8Array.from(atob(decodeURIComponent(content)), (character) => character.charCodeAt(0))
    : new TextEncoder().encode(decodeURIComponent(content));
  return { stream: new Blob([bytes.subarray(start, end)]).stream(), totalBytes: bytes.length };
}

/** True if two ETags name the same content: weak or strong, compressed in transit or not. */
export function isSameVersion(a: string | undefined, b: string | undefined): boolean {
  const plain = (etag: string): string => etag.replace(/^W\//, '').replace(/[-;]+(?:gzip|br|zstd)"$/, '"');
  return a !== undefined && b !== undefined && plain(a) === plain(b);
}

/** The Hub says the digest of large files in `X-Linked-ETag`; the same header holds a git id, which is shorter, for small ones. */
function linkedDigest(headers: Headers): string | undefined {
  return /^(?:W\/)?"?([0-9a-f]{64})"?$/i.exec(headers.get('X-Linked-ETag') ?? '')?.[1]?.toLowerCase();
}

/** Bytes of the whole file; a compressed response tells another length than that of its bytes. */
function fileBytes(response: Response, url: URL): number | undefined {
  const { headers } = response;
  const linked = asBytes(headers.get('X-Linked-Size'));
  if (linked !== undefined) return linked;
  const encoding = headers.get('Content-Encoding');
  if (encoding !== null && encoding !== 'identity') return undefined;
  if (response.status === 206) return asBytes(headers.get('Content-Range')?.split('/')[1]);
  // A script sees no Content-Encoding of another origin, unless that exposes it; text is what hosts compress.
  const mayBeCompressed = response.type === 'cors' && encoding === null && /\.(?:json|jinja|txt|md)$/i.test(url.pathname);
  return mayBeCompressed ? undefined : asBytes(headers.get('Content-Length'));
}

function asBytes(text: string | null | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) : undefined;
}

function refuse(url: URL, response: Response, start: number): void {
  const retryAfterMs = retryAfter(response.headers.get('Retry-After'));
  const details = { url: url.href, status: response.status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
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
  if (response.status !== 206) return;
  const encoding = response.headers.get('Content-Encoding');
  const first = /^bytes (\d+)-/.exec(response.headers.get('Content-Range') ?? '')?.[1];
  // Of another origin, Content-Range may not be visible; where it is, it must be what was asked for.
  if ((encoding === null || encoding === 'identity') && (first === undefined || Number(first) === start)) return;
  const message = `Cannot load ${url.href}: the server answered with another part of the file than was asked for; try again, or load it from another server`;
  throw new TokenglassError('network', message, { details });
}

/** Milliseconds that `Retry-After` asks to wait: seconds or a date. */
function retryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
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
  return new ReadableStream<Uint8Array>(
    {
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
  },
  // The browser reads ahead by itself.
  { highWaterMark: 0 },
  );
}
