import { expect } from 'chai';
import { systemClock } from '../shared/clock.ts';
import { isTokenglassError } from '../shared/errors.ts';
import type { GenerateRequest, TokenEvent } from '../shared/generation.ts';
import { hidePage } from '../shared/testing/hide-page.ts';
import type { LoadProgress } from '../shared/info.ts';
import { DeliveryLog, itl, pageStalls, percentile } from '../runtime/metrics/index.ts';
import type { Engine } from '../runtime/request/engine.ts';
import { createFakeEngine } from '../runtime/engine/testing/fake-engine.ts';
import { connectEngine, type ConnectOptions } from './client.ts';
import type { LoadOptions } from './protocol.ts';

const startWorker = (): Worker => new Worker(new URL('./testing/fake.worker.ts', import.meta.url), { type: 'module' });
const load = (model: string): LoadOptions => ({ model });

/** Connects to a fresh worker, and gives it back too, so that a test can kill it. */
async function connect(model: string, options: ConnectOptions = {}): Promise<{ engine: Engine; worker: Worker }> {
  const worker = startWorker();
  const engine = await connectEngine(worker, load(model), { ...options, onClosed: () => worker.terminate() });
  return { engine, worker };
}

async function caught(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return undefined;
}

async function read(events: AsyncIterable<TokenEvent>): Promise<TokenEvent[]> {
  const all: TokenEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const REQUEST: GenerateRequest = { prompt: 'The quick brown fox', maxTokens: 12, ignoreEos: true };
const outputIds = (events: TokenEvent[]): number[] =>
  events.flatMap((event) => (event.type === 'delta' ? event.tokens.map(({ id }) => id) : []));

describe('connectEngine', () => {
  it('generate: gives through the worker what the engine gives in the page', async () => {
    const { engine } = await connect('fake');
    const local = createFakeEngine({ contextTokens: 4096 }).engine;
    expect(outputIds(await read(engine.generate(REQUEST)))).to.deep.equal(
      outputIds(await read(local.generate(REQUEST))),
    );
    await engine[Symbol.asyncDispose]();
  });

  it('info: says that the engine is in a worker', async () => {
    const { engine } = await connect('fake');
    expect(engine.info.worker).to.equal(true);
    await engine[Symbol.asyncDispose]();
  });

  it('load: passes progress on, and code, details and cause of an error', async () => {
    const progress: LoadProgress[] = [];
    const error = await caught(connect('fails', { onProgress: (event) => progress.push(event) }));
    expect(progress).to.have.lengthOf(1);
    expect(isTokenglassError(error, 'model-invalid')).to.equal(true);
    const { details, cause } = error as { details: unknown; cause: { code: string; details: { status: number } } };
    expect(details).to.deep.equal({ path: 'x' });
    expect(cause.code).to.equal('network');
    expect(cause.details.status).to.equal(503);
  });

  it('load: is aborted by its signal', async () => {
    const controller = new AbortController();
    const loading = caught(
      connect('loads-for-ever', { signal: controller.signal, onProgress: () => controller.abort() }),
    );
    expect(((await loading) as DOMException).name).to.equal('AbortError');
  });

  it('generate: an invalid request keeps its code and field through the worker', async () => {
    const { engine } = await connect('fake');
    const error = await caught(read(engine.generate({ prompt: 'x', maxTokens: -1 })));
    expect(isTokenglassError(error, 'invalid-request')).to.equal(true);
    expect((error as { details: { field: string } }).details.field).to.equal('maxTokens');
    await engine[Symbol.asyncDispose]();
  });

  it('generate: a request that cannot be cloned is refused, and the next one works', async () => {
    const { engine } = await connect('fake');
    const broken = { prompt: () => 'x' } as unknown as GenerateRequest;
    expect(isTokenglassError(await caught(read(engine.generate(broken))), 'invalid-request')).to.equal(true);
    expect(outputIds(await read(engine.generate(REQUEST)))).to.have.lengthOf(12);
    await engine[Symbol.asyncDispose]();
  });

  it('generate: TTFT counts from the call in the page to the delivery in the page', async () => {
    const { engine } = await connect('fake');
    const beforeMs = performance.timeOrigin + performance.now();
    const events = await read(engine.generate(REQUEST));
    const afterMs = performance.timeOrigin + performance.now();
    const end = events.at(-1)!;
    if (end.type !== 'end') throw new TypeError('no end');
    const { calledMs, firstTokenMs, firstDeliveredMs, lastDeliveredMs } = end.trace.marks;
    expect([beforeMs, calledMs, firstTokenMs!, firstDeliveredMs!, lastDeliveredMs!, afterMs]).to.satisfy(
      (marks: number[]) => marks.every((mark, index) => index === 0 || mark >= marks[index - 1]! - 0.2),
    );
    await engine[Symbol.asyncDispose]();
  });

  it('generate: a page that was hidden between two events and is seen again marks the request, and not the next one', async () => {
    const { engine } = await connect('paced');
    const hiddenOf = async (events: AsyncIterable<TokenEvent>): Promise<boolean | undefined> => {
      const end = (await read(events)).at(-1)!;
      return end.type === 'end' ? end.trace.hidden : undefined;
    };
    const first = engine.generate(REQUEST);
    hidePage()();
    expect(await hiddenOf(first)).to.equal(true);
    expect(await hiddenOf(engine.generate(REQUEST))).to.equal(false);
    await engine[Symbol.asyncDispose]();
  });

  it('generate: a page that is busy for 500 ms shows in the delivery of its tokens, not in their ITL', async () => {
    const { engine } = await connect('paced');
    const log = new DeliveryLog(systemClock);
    let end: Extract<TokenEvent, { type: 'end' }> | undefined;
    let isFirst = true;
    for await (const event of engine.generate({ ...REQUEST, maxTokens: 200 })) {
      if (event.type === 'end') end = event;
      if (event.type !== 'delta') continue;
      log.delta('r', event.tokens);
      if (!isFirst) continue;
      isFirst = false;
      const untilMs = systemClock.now() + 500;
      while (systemClock.now() < untilMs);
    }
    const stalls = pageStalls(log.deliveries, 250);
    expect(stalls).to.have.length(1);
    expect(stalls[0]!.waitedMs).to.be.within(400, 1000);
    expect(stalls[0]!.tokens, 'the engine went on').to.be.above(20);
    expect(percentile(itl(end!.trace), 99)).to.be.below(250);
    await engine[Symbol.asyncDispose]();
  });

  it('metrics: the request event carries the delivery marks of the page', async () => {
    const { engine } = await connect('fake');
    const traced = new Promise<number | undefined>((resolve) =>
      engine.metrics.on('request', ({ trace }) => resolve(trace.marks.firstDeliveredMs)),
    );
    const end = (await read(engine.generate(REQUEST))).at(-1)!;
    if (end.type !== 'end') throw new TypeError('no end');
    expect(await traced).to.equal(end.trace.marks.firstDeliveredMs);
    await engine[Symbol.asyncDispose]();
  });

  it('metrics: a function given twice is two subscriptions, each ended by its own', async () => {
    const { engine } = await connect('fake');
    let heard = 0;
    const listener = (): void => void (heard += 1);
    const stop = engine.metrics.on('request', listener);
    engine.metrics.on('request', listener);
    await read(engine.generate(REQUEST));
    stop();
    await read(engine.generate(REQUEST));
    expect(heard).to.equal(3);
    await engine[Symbol.asyncDispose]();
  });

  it('worker: terminating it rejects the stream, a call and later requests with worker-dead', async () => {
    const { engine, worker } = await connect('stalls');
    const stream = caught(read(engine.generate(REQUEST)));
    const call = caught(engine.countTokens({ prompt: 'x' }));
    worker.terminate();
    expect(isTokenglassError(await stream, 'worker-dead')).to.equal(true);
    const callError = await call; // the count may have been answered before the worker died
    if (callError !== undefined) expect(isTokenglassError(callError, 'worker-dead')).to.equal(true);
    expect(isTokenglassError(await caught(read(engine.generate(REQUEST))), 'worker-dead')).to.equal(true);
    expect(isTokenglassError(await caught(engine.countTokens({ prompt: 'x' })), 'worker-dead')).to.equal(true);
  });

  it('worker: one that closes itself while loading rejects the load with worker-dead', async () => {
    expect(isTokenglassError(await caught(connect('dies-loading')), 'worker-dead')).to.equal(true);
  });

  it('worker: an uncaught error in it rejects what is pending with worker-dead', async () => {
    const { engine } = await connect('throws-later');
    const events = caught(read(engine.generate({ prompt: 'x', ignoreEos: true, maxTokens: 4000 })));
    const error = await events;
    if (error !== undefined) expect(isTokenglassError(error, 'worker-dead')).to.equal(true);
    expect(isTokenglassError(await caught(read(engine.generate(REQUEST))), 'worker-dead')).to.equal(true);
  });

  it('worker: a script that does not exist rejects the load with worker-dead', async () => {
    const worker = new Worker(new URL('./testing/nowhere.worker.ts', import.meta.url), { type: 'module' });
    const error = await caught(connectEngine(worker, load('fake'), { onClosed: () => worker.terminate() }));
    expect(isTokenglassError(error, 'worker-dead')).to.equal(true);
  });

  it('dispose: rejects what is pending with disposed, is safe twice, and closes once', async () => {
    let closed = 0;
    const worker = startWorker();
    const engine = await connectEngine(worker, load('stalls'), { onClosed: () => (closed += 1) });
    const stream = caught(read(engine.generate(REQUEST)));
    await engine[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    expect(isTokenglassError(await stream, 'disposed')).to.equal(true);
    expect(closed).to.equal(1);
    worker.terminate();
  });
});
