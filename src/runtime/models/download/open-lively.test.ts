import { expect } from 'chai';
import { SeededRandom } from '../testing/random.ts';
import { FaultServer, sha256Of, weightsLike } from '../testing/fault-server.ts';
import { CHUNK_BYTES, createTestStore, instantRetry, readAll, rejection, sameBytes } from '../testing/test-store.ts';
import { storedSource } from '../stored-source.ts';
import { createUrlSource } from '../url-source.ts';
import { openLively } from './open-lively.ts';
import type { RetryPolicy } from './retry.ts';

/** Time that passes when the test says so. */
class ManualTimers {
  readonly #due = new Map<object, { atMs: number; then: () => void }>();
  #nowMs = 0;

  get pending(): number {
    return this.#due.size;
  }

  readonly after: RetryPolicy['after'] = (ms, then) => {
    const key = {};
    this.#due.set(key, { atMs: this.#nowMs + ms, then });
    return () => this.#due.delete(key);
  };

  pass(ms: number): void {
    this.#nowMs += ms;
    for (const [key, { atMs, then }] of this.#due)
      if (atMs <= this.#nowMs) {
        this.#due.delete(key);
        then();
      }
  }
}

/** Lets every promise that can go on do so. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

const SIZE = 3 * CHUNK_BYTES + 50;
const BYTES = weightsLike('gguf', SIZE, 1);

function setUp() {
  const server = new FaultServer();
  server.serve('/m/model.gguf', { bytes: BYTES, etag: '"v"' });
  const timers = new ManualTimers();
  const source = createUrlSource('https://host.test/m/', { id: 'm', fetch: server.fetch });
  return { server, timers, source, policy: { stallMs: 30_000, after: timers.after } };
}

describe('openLively', () => {
  it('openLively: a body that falls silent fails after stallMs, not before, and its connection is closed', async () => {
    const { server, timers, source, policy } = setUp();
    server.faults = [{ kind: 'stall', afterBytes: 1000 }];
    const { stream } = await openLively(source, 'model.gguf', {}, policy);
    const reader = stream.getReader();
    for (let read = 0; read < 1000; ) read += (await reader.read()).value!.length;
    let failed: unknown;
    const reading = reader.read().catch((error: unknown) => (failed = error));
    await settle();
    timers.pass(29_999);
    await settle();
    expect(failed).to.equal(undefined);
    expect(server.openBodies).to.equal(1);
    timers.pass(1);
    await reading;
    expect(failed).to.have.property('code', 'network');
    expect((failed as Error).message).to.include('30 s');
    expect(server.openBodies).to.equal(0);
    expect(timers.pending).to.equal(0);
  });

  it('openLively: time in which nobody reads does not count, and slow pieces are no silence', async () => {
    const { timers, source, policy } = setUp();
    const { stream } = await openLively(source, 'model.gguf', {}, policy);
    const reader = stream.getReader();
    let read = 0;
    for (;;) {
      timers.pass(29_000_000);
      const { done, value } = await reader.read();
      if (done) break;
      read += value.length;
    }
    expect(read).to.equal(SIZE);
    expect(timers.pending).to.equal(0);
  });

  it('openLively: a host that never answers fails too, and what it answers later is closed', async () => {
    const { timers, source, policy } = setUp();
    let answer: (() => void) | undefined;
    let isClosed = false;
    const late = new ReadableStream<Uint8Array>({ cancel: () => void (isClosed = true) });
    const slow = { ...source, open: () => new Promise<{ stream: typeof late }>((resolve) => (answer = () => resolve({ stream: late }))) };
    const opening = rejection(openLively(slow, 'model.gguf', {}, policy));
    timers.pass(30_000);
    expect(await opening).to.have.property('code', 'network');
    answer!();
    await settle();
    expect(isClosed).to.equal(true);
  });

  it('openLively: an abort is an abort, not a silence', async () => {
    const { server, timers, source, policy } = setUp();
    server.faults = [{ kind: 'stall', afterBytes: 0 }];
    const stop = new AbortController();
    const { stream } = await openLively(source, 'model.gguf', { signal: stop.signal }, policy);
    const reading = rejection(stream.getReader().read());
    stop.abort();
    expect(await reading).to.have.property('name', 'AbortError');
    expect(timers.pending).to.equal(0);
    expect(server.openBodies).to.equal(0);
  });

  it('storedSource: a download that falls silent at any byte goes on there, by Range and after a pause', async () => {
    const random = new SeededRandom(7);
    const sha256 = await sha256Of(BYTES);
    for (let turn = 0; turn < 20; turn++) {
      const { server, timers, source } = setUp();
      server.serve('/m/model.gguf', { bytes: BYTES, etag: '"v"', sha256 });
      const first = random.integer(SIZE - 1);
      server.faults = [{ kind: 'stall', afterBytes: first }, { kind: 'stall', afterBytes: random.integer(200) }];
      const store = createTestStore();
      const retry = { ...instantRetry(), stallMs: 30_000, after: timers.after };
      const reading = readAll(storedSource(source, { store, retry }), 'model.gguf');
      const state = { isOver: false };
      void reading.finally(() => (state.isOver = true)).catch(() => undefined);
      for (let wait = 0; wait < 1000 && !state.isOver; wait++) {
        await settle();
        // A read that waits for the network is all that there is to wait for.
        timers.pass(server.faults.length === 2 ? 0 : 10_000);
      }
      expect(sameBytes(await reading, BYTES), `turn ${turn}`).to.equal(true);
      expect(server.servedBytes, `turn ${turn}: no byte twice`).to.equal(SIZE);
      expect(server.requests.map(({ from }) => from).slice(0, 2)).to.deep.equal([undefined, first === 0 ? undefined : first]);
      expect(retry.waitedMs.length).to.equal(2);
      await store.destroy();
    }
  });
});
