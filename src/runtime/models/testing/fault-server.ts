import { SeededRandom } from './random.ts';

/** What goes wrong with one request. */
export type Fault =
  | { kind: 'refuse-connection' }
  /** The connection breaks after this many bytes of the body. */
  | { kind: 'break-off'; afterBytes: number }
  /** The body ends, as if whole, after this many bytes. */
  | { kind: 'end-early'; afterBytes: number }
  | { kind: 'status'; status: number; retryAfterSeconds?: number }
  /** A page, with status 200. */
  | { kind: 'html'; contentType: string }
  /** 206, but from another offset than asked for. */
  | { kind: 'wrong-range' }
  /** Status 200 and the whole file, whatever was asked for. */
  | { kind: 'ignore-range' }
  /** One bit of the body is another one. */
  | { kind: 'flip-bit'; atByte: number }
  /** More bytes than `Content-Length` says. */
  | { kind: 'too-long' }
  /** Compressed in transit: `Content-Length` is another, and a range cannot be had. */
  | { kind: 'gzip' }
  /** The body stops coming after this many bytes; nothing breaks. */
  | { kind: 'stall'; afterBytes: number };

export interface ServedFile {
  bytes: Uint8Array;
  etag?: string;
  /** Told in `X-Linked-ETag` and `X-Linked-Size`, as the Hub does for large files. */
  sha256?: string;
}

export interface ServerRequest {
  url: string;
  /** First byte that was asked for; undefined without a range. */
  from: number | undefined;
  headers: Headers;
}

/**
 * A `fetch` that behaves like a host of model files (HTTP ranges, `If-Range`, ETags, the Hub's headers), and misbehaves when told to. Bytes
 * are produced as they are read, so that `servedBytes` is what a network would have carried.
 */
export class FaultServer {
  /** By pathname. */
  readonly files = new Map<string, ServedFile>();
  readonly requests: ServerRequest[] = [];
  /** Faults of the next requests, in order; `undefined` for one that goes right. Afterwards all go right. */
  faults: (Fault | undefined)[] = [];
  /** Bytes of bodies that were taken. */
  servedBytes = 0;
  /** Connections that are open: bodies that were neither read to the end nor given up. */
  openBodies = 0;
  /** Bytes of a piece of a body. */
  pieceBytes = 700;
  isOffline = false;
  /** Called after every piece of a body. */
  onPiece: () => void = () => undefined;

  readonly fetch: typeof globalThis.fetch = (input, init) => {
    // Answers like a network: never in the same turn, and not at all to a request that was given up.
    const request = new Request(input instanceof Request ? input : new URL(input), init);
    return Promise.resolve().then(() => this.#answer(request));
  };

  serve(path: string, file: ServedFile): void {
    this.files.set(path, file);
  }

  #answer(request: Request): Response {
    if (request.signal.aborted) throw new DOMException('The user aborted a request.', 'AbortError');
    if (this.isOffline) throw new TypeError('Failed to fetch');
    const url = new URL(request.url);
    const from = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get('Range') ?? '');
    this.requests.push({ url: request.url, from: from ? Number(from[1]) : undefined, headers: request.headers });
    const fault = this.faults.shift();
    if (fault?.kind === 'refuse-connection') throw new TypeError('Failed to fetch');
    if (fault?.kind === 'status') {
      const headers = new Headers();
      if (fault.retryAfterSeconds !== undefined) headers.set('Retry-After', String(fault.retryAfterSeconds));
      return new Response('no', { status: fault.status, headers });
    }
    if (fault?.kind === 'html') {
      const page = '<!DOCTYPE html><html><body>Please log in</body></html>';
      return new Response(page, { headers: { 'Content-Type': fault.contentType } });
    }
    const file = this.files.get(decodeURIComponent(url.pathname));
    if (!file) return new Response('Not found', { status: 404 });
    return this.#file(request, file, fault, from);
  }

  #file(request: Request, file: ServedFile, fault: Fault | undefined, range: RegExpExecArray | null): Response {
    const { bytes, etag, sha256 } = file;
    const headers = new Headers({ 'Content-Type': 'application/octet-stream' });
    const isGzip = fault?.kind === 'gzip';
    if (etag !== undefined) headers.set('ETag', isGzip ? `W/${etag.replace(/^W\//, '')}` : etag);
    if (sha256 !== undefined) {
      headers.set('X-Linked-ETag', `"${sha256}"`);
      headers.set('X-Linked-Size', String(bytes.length));
    }
    const condition = request.headers.get('If-Range');
    const honoursRange =
      range && !isGzip && fault?.kind !== 'ignore-range' && (condition === null || condition === etag);
    if (!honoursRange) {
      if (isGzip) headers.set('Content-Encoding', 'gzip');
      headers.set('Content-Length', String(isGzip ? Math.ceil(bytes.length / 3) : bytes.length));
      return new Response(this.#body(request, bytes, fault), { headers });
    }
    const start = Number(range[1]);
    if (start >= bytes.length) {
      return new Response('', { status: 416, headers: { 'Content-Range': `bytes */${bytes.length}` } });
    }
    const end = range[2] === '' ? bytes.length : Math.min(bytes.length, Number(range[2]) + 1);
    const first = fault?.kind === 'wrong-range' ? Math.max(0, start - 1) : start;
    headers.set('Content-Range', `bytes ${first}-${end - 1}/${bytes.length}`);
    headers.set('Content-Length', String(end - first));
    return new Response(this.#body(request, bytes.subarray(first, end), fault), { status: 206, headers });
  }

  #body(request: Request, bytes: Uint8Array, fault: Fault | undefined): ReadableStream<Uint8Array> {
    let content = bytes;
    if (fault?.kind === 'too-long') content = new Uint8Array([...bytes, 1, 2, 3]);
    if (fault?.kind === 'flip-bit') {
      content = bytes.slice();
      content[fault.atByte % content.length]! ^= 1;
    }
    const limit = fault && 'afterBytes' in fault ? Math.min(fault.afterBytes, content.length) : content.length;
    let at = 0;
    let isOpen = true;
    this.openBodies += 1;
    const close = (): void => {
      if (isOpen) this.openBodies -= 1;
      isOpen = false;
    };
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          request.signal.addEventListener('abort', () => {
            if (!isOpen) return;
            close();
            controller.error(new DOMException('The user aborted a request.', 'AbortError'));
          });
        },
        pull: (controller) => {
          if (at < limit) {
            const piece = content.slice(at, Math.min(limit, at + this.pieceBytes));
            at += piece.length;
            this.servedBytes += piece.length;
            controller.enqueue(piece);
            this.onPiece();
            return undefined;
          }
          if (fault?.kind === 'stall') return new Promise<void>(() => undefined);
          close();
          if (fault?.kind === 'break-off') controller.error(new TypeError('network error'));
          else controller.close();
          return undefined;
        },
        cancel: close,
      },
      { highWaterMark: 0 },
    );
  }
}

/** Bytes that are no model, but begin like one of `kind`. */
export function weightsLike(kind: 'gguf' | 'onnx', length: number, seed: number): Uint8Array {
  const random = new SeededRandom(seed);
  const bytes = Uint8Array.from({ length }, () => random.uint32());
  bytes.set((kind === 'gguf' ? [0x47, 0x47, 0x55, 0x46] : [0x08, 0x0a]).slice(0, length));
  return bytes;
}

/** SHA-256 by the browser's own implementation, not by the one that is tested. */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
