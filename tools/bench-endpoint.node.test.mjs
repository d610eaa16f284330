// The benchmark takes a server beside the engines of the page, by the command line that its documentation gives.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';

const HEADERS = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' };
const KEY = 'sk-of-this-test';

/** A server in the way of vLLM: it lists its model, counts tokens (words and a template of 4), and streams words with their ids. */
function startServer() {
  const seen = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    if (request.method === 'OPTIONS') return response.writeHead(204, HEADERS).end();
    const body = text === '' ? {} : JSON.parse(text);
    seen.push({ path: request.url, key: request.headers.authorization, body });
    const json = (value) =>
      response.writeHead(200, { ...HEADERS, 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    if (request.url === '/v1/models') return json({ data: [{ id: 'words', owned_by: 'vllm', max_model_len: 4096 }] });
    const promptTokens = wordsOf(body) + 4;
    if (request.url === '/tokenize') return json({ count: promptTokens });
    response.writeHead(200, { ...HEADERS, 'Content-Type': 'text/event-stream' });
    const event = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] });
    for (let token = 0; token < body.max_tokens; token++)
      event({ choices: [{ index: 0, delta: { content: ` word${token}` }, token_ids: [token] }] });
    event({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] });
    event({ choices: [], usage: { prompt_tokens: promptTokens, completion_tokens: body.max_tokens } });
    response.end('data: [DONE]\n\n');
  });
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve({ url: `http://127.0.0.1:${server.address().port}/v1`, seen, close: () => server.close() }),
    ),
  );
}

const wordsOf = ({ messages = [], prompt = '' }) =>
  [prompt, ...messages.map(({ content }) => content)]
    .join(' ')
    .split(/\s+|(?=[.!])/)
    .filter(Boolean).length;

/** The server runs in this process, so the command must not block it. */
function bench(args, env = {}) {
  const child = spawn(process.execPath, ['tools/bootstrap.mjs', 'bench', ...args], { env: { ...process.env, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (piece) => (stdout += piece));
  child.stderr.on('data', (piece) => (stderr += piece));
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, stdout, stderr })));
}

describe('npm run bench -- --engine endpoint', () => {
  let server;
  before(async () => (server = await startServer()));
  after(() => server.close());

  it('bench: measures a server, says what it does not know of its model, and keeps the key to itself', async () => {
    const args = ['--engine', 'endpoint', '--endpoint', server.url, '--endpoint-model', 'words'];
    const size = ['--prompt-tokens', '24', '--output-tokens', '6', '--requests', '3', '--json', '-'];
    const { status, stdout, stderr } = await bench([...args, ...size], { TOKENGLASS_ENDPOINT_KEY: KEY });
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stdout + stderr, new RegExp(KEY), 'the key is in no output');
    const report = JSON.parse(stdout);
    const [{ conditions, samples, requests }] = report.runs;
    assert.equal(conditions.engine.name, 'endpoint');
    assert.equal(conditions.engine.version, 'vllm');
    assert.equal(conditions.model.id, 'words');
    assert.ok(conditions.model.unknown.includes('weightBytes'));
    assert.equal(requests.completed, 3);
    for (const sample of samples) {
      assert.equal(sample.promptTokens, 24);
      assert.equal(sample.outputTokens, 6);
      assert.equal(sample.text, ' word0 word1 word2 word3 word4 word5');
    }
    const asked = server.seen.filter(({ path }) => path === '/v1/chat/completions');
    assert.equal(asked.length, 4, 'one of them is the warm-up');
    for (const { key, body } of asked) {
      assert.equal(key, `Bearer ${KEY}`);
      assert.equal(body.ignore_eos, true);
    }
  });

  it('bench: an engine whose server or model is not named is a sentence', async () => {
    const { status, stderr } = await bench(['--engine', 'endpoint', '--endpoint', server.url]);
    assert.equal(status, 1);
    assert.match(stderr, /--endpoint-model is not given/);
  });
});
