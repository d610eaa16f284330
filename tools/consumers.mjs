// `npm run consumers [-- NAME ...]`: packs the library, installs it into fresh folders from the registry as a stranger would, builds each for
// the path /app/, opens the page in Chromium without cross-origin isolation, and asks "What is TTFT?". A consumer fails on any error of the
// console or the page, or without an answer. Prints the kB (gzip) that came before the first weight with the engine webgpu.
//   --fast      those that CI builds
//   --keep      leave the folders
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { launchBrowser } from './browser.mjs';
import { CONSUMERS, FAST } from './consumers/matrix.mjs';
import { html } from './consumers/page.mjs';
import { typeOf } from './server.mjs';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith('--'));
const named = args.filter((arg) => !arg.startsWith('--'));
const names = named.length ? named : flags.includes('--fast') ? FAST : Object.keys(CONSUMERS);
const unknown = names.filter((name) => !Object.hasOwn(CONSUMERS, name));
if (unknown.length) throw new Error(`Cannot build ${unknown.join(', ')}: take ${Object.keys(CONSUMERS).join(', ')}`);

const root = mkdtempSync(join(tmpdir(), 'tokenglass-consumers-'));
/** What is asked of a page besides, by what its build carries. */
const MORE_VISITS = {
  all: ['/app/', '/app/?engine=webgpu&json', '/app/?engine=onnx-wasm'],
  modules: ['/app/', '/app/?engine=webgpu&json'],
  none: ['/app/'],
  insecure: [],
};
const ANSWER_LIMIT_MS = 120_000;

/** Runs a command quietly; its output is part of the error. */
async function run(folder, command, commandArgs) {
  const child = spawn(command, commandArgs, {
    cwd: folder,
    env: {
      ...process.env,
      CI: 'true',
      NODE_ENV: '',
      NEXT_TELEMETRY_DISABLED: '1',
      ASTRO_TELEMETRY_DISABLED: '1',
      NUXT_TELEMETRY_DISABLED: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
  const [status] = await once(child, 'close');
  if (status !== 0)
    throw new Error(`${command} ${commandArgs.join(' ')} ended with ${status}:\n${output.slice(-3000)}`);
  return output;
}

/** The packed library, and the same unpacked. */
function pack() {
  const output = execFileSync(npm, ['pack', '--json', '--pack-destination', root], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  const json = JSON.parse(output.slice(output.search(/^[[{]/m)));
  const [entry] = Array.isArray(json) ? json : Object.values(json);
  const tarball = join(root, entry.filename.split('/').at(-1));
  execFileSync('tar', ['-xzf', tarball, '-C', root]);
  return { tarball, folder: join(root, 'package') };
}

/** A plain static server: `mounts` are folders by path prefix. */
async function serve(mounts, headers = {}) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const prefix = Object.keys(mounts).find((candidate) => path.startsWith(candidate));
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (prefix === undefined) return void response.writeHead(404).end();
    const file = resolve(mounts[prefix], path.slice(prefix.length) || 'index.html');
    try {
      const body = readFileSync(path.endsWith('/') ? join(file, path === prefix ? '' : 'index.html') : file);
      response.setHeader('Content-Type', typeOf(file));
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function writeFiles(folder, files, library) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content.replaceAll('LIBRARY', library));
  }
}

/** Installs from the registry, builds, and resolves to the folder of the built page. */
async function buildConsumer(name, { dependencies, files, build, output }, tarball, library) {
  const folder = join(root, name);
  mkdirSync(folder);
  const manifest = {
    name,
    private: true,
    ...(build && { type: 'module' }),
    ...JSON.parse(files['package.json'] ?? '{}'),
  };
  writeFiles(folder, { ...files, 'package.json': JSON.stringify(manifest) }, library);
  if (build) {
    const wanted = Object.entries(dependencies).map(([dependency, version]) => `${dependency}@${version}`);
    await run(folder, npm, ['install', '--no-audit', '--no-fund', '--loglevel=error', tarball, ...wanted]);
    await run(folder, 'npx', ['--no-install', ...build]);
  }
  return join(folder, output);
}

/** Opens the page and resolves to its answer, the errors it made, and the bytes of gzip before the first weight. */
async function ask(browser, url, limitMs = ANSWER_LIMIT_MS) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const errors = [];
  const before = [];
  let weights = false;
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  context.on('requestfailed', (request) => {
    const why = request.failure()?.errorText;
    if (why !== 'net::ERR_ABORTED') errors.push(`${request.url()} ${why}`);
  });
  context.on('request', (request) => (weights ||= /\.(gguf|onnx)/.test(request.url())));
  context.on('response', (response) => {
    if (!weights && !response.url().startsWith('data:')) before.push(response.body().catch(() => Buffer.alloc(0)));
  });
  try {
    await page.goto(url);
    const frame = page.frames().at(-1);
    const deadline = Date.now() + limitMs;
    let answer;
    while (!answer && Date.now() < deadline && !page.isClosed()) {
      answer = await frame.evaluate('window.answer').catch(() => undefined);
      if (!answer) await new Promise((wait) => setTimeout(wait, 100));
    }
    const bodies = await Promise.all(before);
    const bytes = bodies.reduce((sum, body) => sum + (body.length ? gzipSync(body, { level: 9 }).length : 0), 0);
    return { answer, errors, kilobytes: bytes / 1000 };
  } finally {
    await context.close();
  }
}

/** @returns what went wrong with one visit; undefined if nothing did */
function faultOf({ answer, errors }) {
  if (errors.length) return errors.slice(0, 4).join('; ').slice(0, 600);
  if (!answer) return 'no answer came';
  if (answer.error) return `${answer.code ?? ''} ${answer.error}`;
  if (!answer.text.trim()) return 'the answer is empty';
  return undefined;
}

async function check(browser, name, consumer, library) {
  const folder = await buildConsumer(name, consumer, packed.tarball, `${library.url}/lib`);
  const headers = consumer.csp ? { 'Content-Security-Policy': consumer.csp } : {};
  const mounts = { '/app/': folder };
  if (consumer.sandbox) {
    const around = join(root, `${name}-around`);
    writeFiles(around, {
      'index.html': html('<iframe sandbox="allow-scripts" src="/app/?engine=webgpu"></iframe>'),
    });
    mounts['/around/'] = around;
  }
  const server = await serve(mounts, headers);
  try {
    // Only a secure page has WebGPU.
    const first = consumer.sandbox ? '/around/' : consumer.host ? '/app/' : '/app/?engine=webgpu';
    const visits = [first, ...(consumer.sandbox ? [] : MORE_VISITS[consumer.carries ?? 'all'])];
    let kilobytes;
    for (const visit of visits) {
      const result = await ask(
        browser,
        `${consumer.host ? server.url.replace('127.0.0.1', consumer.host) : server.url}${visit}`,
      );
      kilobytes ??= result.kilobytes;
      const fault = faultOf(result);
      if (fault) return { kilobytes, fault: `${visit}: ${fault}` };
      if (!result.answer.worker) return { kilobytes, fault: `${visit}: it did not run in a worker` };
    }
    return { kilobytes };
  } finally {
    server.close();
  }
}

console.log('Packing ...');
const packed = pack();
const library = await serve({ '/lib/': packed.folder }, { 'Access-Control-Allow-Origin': '*' });
const hosts = Object.values(CONSUMERS).flatMap(({ host }) => host ?? []);
const browser = await launchBrowser({
  args: [`--host-resolver-rules=${hosts.map((host) => `MAP ${host} 127.0.0.1`).join(',')}`],
});
const counts = { passed: 0, failed: 0, skipped: 0 };
/** The registry could not be reached: that says nothing of the package. */
const UNREACHED = /\b(?:ENOTFOUND|ETIMEDOUT|ECONNRESET|ECONNREFUSED|EAI_AGAIN|E5\d\d|ERR_SOCKET_TIMEOUT)\b/;
try {
  for (const name of names) {
    const startedMs = Date.now();
    const { fault, kilobytes } = await check(browser, name, CONSUMERS[name], library).catch((error) => ({
      fault: error.message,
    }));
    const verdict = !fault ? 'passed' : UNREACHED.test(fault) ? 'skipped' : 'failed';
    counts[verdict] += 1;
    const size = kilobytes === undefined ? '' : `${kilobytes.toFixed(1).padStart(7)} kB gzip before the first weight`;
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    console.log(
      `${{ passed: 'ok  ', failed: 'FAIL', skipped: 'skip' }[verdict]} ${name.padEnd(18)} ${size.padEnd(42)} ${seconds} s${fault ? `\n     ${fault}` : ''}`,
    );
  }
} finally {
  await browser.close();
  library.close();
  if (flags.includes('--keep')) console.log(`Kept ${root}`);
  else rmSync(root, { recursive: true, force: true });
}
if (process.env.TEST_COUNTS) writeFileSync(process.env.TEST_COUNTS, JSON.stringify(counts));
console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed ? 1 : 0;
