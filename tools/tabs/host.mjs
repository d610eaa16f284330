// A host of one page, one script and some files, which it serves by ranges, counts, and holds back where a test wants it.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

/** A file that begins like GGUF, with the SHA-256 that the Hub would tell. */
export function weightsLike(length, seed) {
  const bytes = Buffer.alloc(length);
  let state = seed + 1;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  bytes.write('GGUF', 0, 'latin1');
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

export class Host {
  /** By path. */
  files = new Map();
  /** Paths that were asked for. */
  requests = [];
  servedBytes = 0;
  /** Bytes of a file beyond which nothing more is sent, the connection staying open. */
  holdAt = Infinity;
  #held = new Set();
  #onGone = new Set();
  #server;

  constructor(script) {
    this.#server = createServer((request, response) => {
      const { pathname } = new URL(request.url, 'http://localhost');
      if (pathname === '/page.js') response.setHeader('Content-Type', 'text/javascript').end(script);
      else if (this.files.has(pathname)) this.#serve(this.files.get(pathname), request, response);
      else if (pathname === '/')
        response
          .setHeader('Content-Type', 'text/html')
          .end('<!doctype html><script type="module" src="page.js"></script>');
      else response.writeHead(404).end();
    });
  }

  async listen() {
    await new Promise((ready) => this.#server.listen(0, '127.0.0.1', ready));
    return `http://127.0.0.1:${this.#server.address().port}/`;
  }

  close() {
    return new Promise((closed) => (this.#server.close(closed), this.#server.closeAllConnections()));
  }

  /** Resolves once nobody waits for what is held back: the tab that did is gone. */
  async whenGone() {
    while (this.#held.size > 0) await new Promise((resolve) => this.#onGone.add(resolve));
  }

  /** Sends what was held back, and holds nothing back any more. */
  release() {
    this.holdAt = Infinity;
    for (const go of this.#held) go();
    this.#held.clear();
  }

  #serve({ bytes, sha256 }, request, response) {
    this.requests.push(new URL(request.url, 'http://localhost').pathname);
    const etag = `"${sha256.slice(0, 16)}"`;
    const range = /^bytes=(\d+)-/.exec(request.headers.range ?? '');
    const isRange = range && [undefined, etag].includes(request.headers['if-range']);
    const start = isRange ? Number(range[1]) : 0;
    response.writeHead(isRange ? 206 : 200, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': bytes.length - start,
      ETag: etag,
      'X-Linked-ETag': `"${sha256}"`,
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': '*',
      ...(isRange && { 'Content-Range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    const send = (from, to) => {
      this.servedBytes += Math.max(0, to - from);
      response.write(bytes.subarray(from, Math.max(from, to)));
    };
    const hold = Math.min(bytes.length, this.holdAt);
    send(start, hold);
    if (hold === bytes.length) response.end();
    else {
      const go = () => (send(Math.max(start, hold), bytes.length), response.end());
      this.#held.add(go);
      response.on('close', () => {
        this.#held.delete(go);
        for (const gone of this.#onGone) gone();
        this.#onGone.clear();
      });
    }
  }
}
