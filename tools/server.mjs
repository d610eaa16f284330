// A static server for built pages: right types, cross-origin isolation, ranges, loopback only.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, resolve, sep } from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.map': 'application/json; charset=utf-8',
};

/** What a file is, by its ending. */
export const typeOf = (file) => TYPES[extname(file)] ?? 'application/octet-stream';

/** SharedArrayBuffer, and so the threads of the WASM backend, needs a cross-origin isolated page. */
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

function parseRange(header, size) {
  const match = /^bytes=(\d+)-(\d*)$/.exec(header ?? '');
  if (!match) return undefined;
  const start = Number(match[1]);
  const end = match[2] ? Math.min(Number(match[2]), size - 1) : size - 1;
  return start <= end ? { start, end } : undefined;
}

/**
 * Serves `folder` (and, for each prefix in `mounts`, another folder) at a free or given port of 127.0.0.1.
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
export async function serveFolder(folder, { port = 0, mounts = {} } = {}) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const mount = Object.keys(mounts).find((prefix) => path.startsWith(prefix));
    const root = resolve(mount ? mounts[mount] : folder);
    let file = normalize(join(root, mount ? path.slice(mount.length) : path));
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
    if (!(file === root || file.startsWith(root + sep)) || !existsSync(file)) {
      response.writeHead(404, { 'Content-Type': 'text/plain', ...ISOLATION }).end('Not found');
      return;
    }
    const size = statSync(file).size;
    const range = parseRange(request.headers.range, size);
    response.writeHead(range ? 206 : 200, {
      'Content-Type': typeOf(file),
      'Content-Length': range ? range.end - range.start + 1 : size,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'no-cache',
      ...(range && { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
      ...ISOLATION,
    });
    if (request.method === 'HEAD') response.end();
    else createReadStream(file, range).pipe(response);
  });
  await new Promise((ready, failed) => server.once('error', failed).listen(port, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => new Promise((closed) => (server.close(closed), server.closeAllConnections())),
  };
}
