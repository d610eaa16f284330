import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import type { GenerateRequest } from '../../shared/generation.ts';
import type { StepRow } from '../backends/backend.ts';
import type { CompileGrammar } from '../text/grammar/grammar.ts';
import { BYTE_VOCAB_SIZE } from './testing/byte-tokenizer.ts';
import { answer, collect, nextEvent, rejection, settle } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import { endless } from './testing/requests.ts';

const CHUNK = 16;
const WIDE = { capabilities: { maxBatch: 4, maxStepTokens: CHUNK }, nextToken: endless } as const;
const LATENCY = { scheduling: { policy: 'latency' } } as const;

const ids = (length: number, first = 65): number[] =>
  Array.from({ length }, (_, index) => 32 + ((first + index * 7) % 90));

const request = (promptTokens: number, maxTokens: number, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  promptTokens: ids(promptTokens),
  maxTokens,
  ignoreEos: true,
  ...more,
});

const isDecode = ({ input }: StepRow): boolean => input === 'previous';
const promptTokensOf = (rows: readonly StepRow[]): number =>
  rows.reduce((sum, { input, isPrompt }) => sum + (isPrompt ? input.length : 0), 0);

/** Sequence ids in the order in which their first row was given. */
const order = (given: readonly (readonly StepRow[])[]): number[] => [
  ...new Set(given.flatMap((rows) => rows.map(({ sequence }) => sequence))),
];

describe('LocalEngine scheduling', () => {
  it('steps: whoever decodes is part of every step while a long prompt is computed in pieces', async () => {
    const { engine, backend } = createFakeEngine({ ...WIDE, contextTokens: 512 });
    const streams = [1, 2, 3].map(() => answer(engine, request(4, 60)));
    await backend.whenGiven(20);
    const before = backend.given.length;
    const long = answer(engine, request(300, 2));
    await Promise.all([...streams, long]);
    const during = backend.given.slice(before).filter((rows) => promptTokensOf(rows) > 0);
    expect(during.length, 'in pieces').to.be.at.least(300 / CHUNK);
    const withStreams = during.filter((rows) => rows.some(isDecode));
    expect(withStreams.length).to.be.above(15);
    for (const rows of withStreams) expect(rows.filter(isDecode)).to.have.length(3);
  });

  it('steps: a prompt that nobody has to wait for has the whole of each step', async () => {
    const { engine, backend } = createFakeEngine(WIDE);
    await answer(engine, request(60, 1));
    expect(backend.given.map(promptTokensOf)).to.deep.equal([CHUNK, CHUNK, CHUNK, 60 - 3 * CHUNK]);
  });

  it('steps: several prompts have their share in turn, so that a short one does not wait for a long one', async () => {
    const { engine, backend } = createFakeEngine({ ...WIDE, contextTokens: 512 });
    const long = answer(engine, request(400, 1));
    await backend.whenGiven(3);
    const short = answer(engine, request(40, 1));
    await short;
    const stepsOfShort = backend.given.filter((rows) => rows.some(({ sequence }) => sequence === 2)).length;
    const until = backend.given.findIndex((rows) => rows.some(({ sequence, sample }) => sequence === 2 && sample));
    expect(stepsOfShort).to.equal(3);
    expect(until, 'every second step is its own').to.be.at.most(3 + 2 * 3 + 1);
    await long;
  });

  it('steps: a stream of short prompts does not hold up a long one', async () => {
    const { engine, backend } = createFakeEngine({ ...WIDE, contextTokens: 512 });
    const long = answer(engine, request(320, 1));
    const isDone = { now: false };
    const done = long.then(() => (isDone.now = true));
    let shorts = 0;
    for (; !isDone.now && shorts < 400; shorts++) await answer(engine, request(CHUNK, 1));
    await done;
    // It needs 20 steps of its own; a short one needs one.
    expect(shorts).to.be.below(30);
    expect(backend.openSequences).to.equal(0);
  });

  it('policy: latency runs one at a time, in the order of the calls', async () => {
    const { engine, backend } = createFakeEngine(WIDE, LATENCY);
    await Promise.all([1, 2, 3].map(() => answer(engine, request(20, 4))));
    expect(Math.max(...backend.given.map((rows) => rows.length))).to.equal(1);
    const changes = backend.given.filter(
      ([row], at) => at > 0 && row!.sequence !== backend.given[at - 1]![0]!.sequence,
    );
    expect(changes).to.have.length(2);
    expect(engine.info.scheduling).to.deep.equal({ policy: 'latency', maxBatch: 1, maxQueued: 64 });
  });

  it('policy: throughput computes prompts a whole step at a time, beside those who decode', async () => {
    const { engine, backend } = createFakeEngine(
      { ...WIDE, capabilities: { maxBatch: 4, maxStepTokens: 64 }, contextTokens: 512 },
      { scheduling: { policy: 'throughput' } },
    );
    const stream = answer(engine, request(4, 30));
    await backend.whenGiven(5);
    await answer(engine, request(300, 1));
    const pieces = backend.given.filter((rows) => rows.some(isDecode)).map(promptTokensOf);
    expect(Math.max(...pieces)).to.equal(63);
    await stream;
  });

  it('priority: high is taken off the queue before normal, and normal before low', async () => {
    const { engine, backend } = createFakeEngine({ ...WIDE, completion: 'manual' }, LATENCY);
    const first = answer(engine, request(4, 1, { priority: 'high' }));
    await backend.whenGiven(1);
    const runs = (['low', 'normal', 'high', 'normal'] as const).map((priority, index) =>
      answer(engine, request(5 + index, 1, { priority })),
    );
    backend.release();
    await Promise.all([first, ...runs]);
    expect(backend.given.map(([row]) => row!.input.length)).to.deep.equal([4, 7, 6, 8, 5]);
  });

  it('priority: a high request takes the place of a running low one, which goes on afterwards with the same tokens', async () => {
    const expected = await answer(createFakeEngine().engine, request(20, 30));
    const { engine, backend } = createFakeEngine({ capabilities: { maxBatch: 1 } });
    const low = answer(engine, request(20, 30, { priority: 'low' }));
    await backend.whenGiven(8);
    const high = await answer(engine, request(6, 3, { priority: 'high' }));
    expect(high.ids).to.have.length(3);
    const { ids: given, end } = await low;
    expect(given).to.deep.equal(expected.ids);
    expect(end.trace.preemptions).to.equal(1);
    expect(order(backend.given)).to.deep.equal([1, 2, 3]);
  });

  it('queue-full: one more than may run and wait is refused at once, with the numbers, and the others are answered', async () => {
    const { engine, backend } = createFakeEngine(
      { ...WIDE, completion: 'manual', capabilities: { maxBatch: 2 } },
      { scheduling: { maxQueued: 3 } },
    );
    const runs = Array.from({ length: 5 }, () => answer(engine, request(4, 2)));
    await backend.whenGiven(1);
    const error = await rejection(answer(engine, request(4, 2)));
    expect(error).to.deep.include({ code: 'queue-full', details: { queued: 3, maxQueued: 3 } });
    backend.release();
    await Promise.all(runs);
    expect((await answer(engine, request(4, 2))).ids).to.have.length(2);
  });

  it('queue-full: without a queue, as many as run at a time are taken', async () => {
    const { engine } = createFakeEngine(WIDE, { scheduling: { maxQueued: 0 } });
    const runs = Array.from({ length: 6 }, () => answer(engine, request(4, 2)).catch((error: unknown) => error));
    const results = await Promise.all(runs);
    expect(results.filter((result) => (result as { code?: string }).code === 'queue-full')).to.have.length(2);
  });

  it('timeoutMs: ends a request between steps, the tokens so far are given, and the others go on', async () => {
    const clock = { ms: 1000 };
    const { engine, backend } = createFakeEngine({
      ...WIDE,
      clock: { now: () => clock.ms },
      onStepEnd: () => (clock.ms += 10),
    });
    const outcome = nextEvent(engine, 'request');
    const other = answer(engine, request(4, 40));
    const seen: number[] = [];
    const timed = (async () => {
      for await (const event of engine.generate(request(4, 40, { timeoutMs: 100 })))
        if (event.type === 'delta') seen.push(...event.tokens.map(({ id }) => id));
    })();
    expect(await rejection(timed)).to.deep.include({ code: 'timeout', details: { timeoutMs: 100 } });
    expect((await outcome).outcome).to.equal('failed');
    expect(seen.length).to.be.within(6, 10);
    expect((await other).ids).to.have.length(40);
    expect(backend.openSequences).to.equal(0);
  });

  it('timeoutMs: counts from the call, also while the request waits, or while a step hangs', async () => {
    const { engine, backend } = createFakeEngine({ ...WIDE, completion: 'manual' }, LATENCY);
    const hanging = rejection(answer(engine, request(4, 2, { timeoutMs: 20 })));
    await backend.whenGiven(1);
    const waiting = rejection(answer(engine, request(4, 2, { timeoutMs: 10 })));
    expect(await waiting).to.have.property('code', 'timeout');
    expect(await hanging).to.have.property('code', 'timeout');
    expect(await rejection(answer(engine, request(4, 2, { timeoutMs: 0 })))).to.have.property('code', 'timeout');
    backend.release();
    expect((await answer(engine, request(4, 2, { timeoutMs: 1e9 }))).ids).to.have.length(2);
  });

  it('context-overflow: a prompt that can never fit is refused at once, though others are before it', async () => {
    const { engine, backend } = createFakeEngine({ ...WIDE, completion: 'manual', contextTokens: 64 }, LATENCY);
    const first = answer(engine, request(4, 2));
    await backend.whenGiven(1);
    const error = await rejection(answer(engine, { prompt: 'x'.repeat(80) }));
    expect(error).to.deep.include({ code: 'context-overflow', details: { promptTokens: 81, contextTokens: 64 } });
    backend.release();
    await first;
  });

  it('preemption: where KV runs out the youngest gives way and goes on later; no answer has an error', async () => {
    const { engine, backend } = createFakeEngine({ ...WIDE, contextTokens: 160, kvTokens: 160 });
    const runs = await Promise.all([1, 2, 3].map((index) => answer(engine, request(20 + index, 100))));
    expect(runs.map(({ ids: given }) => given.length)).to.deep.equal([100, 100, 100]);
    expect(runs[0]!.end.trace.preemptions, 'the oldest never').to.equal(undefined);
    expect(runs[1]!.end.trace.preemptions).to.equal(1);
    expect(backend.usedBlocks).to.equal(0);
  });

  it('preemption: a low request gives way before a younger one of higher priority', async () => {
    const { engine } = createFakeEngine({ ...WIDE, contextTokens: 128, kvTokens: 160 });
    const low = answer(engine, request(20, 90, { priority: 'low' }));
    const high = answer(engine, request(21, 90));
    expect((await high).end.trace.preemptions).to.equal(undefined);
    expect((await low).end.trace.preemptions).to.equal(1);
  });

  it('restore: while the cache of one request is looked up, the others go on', async () => {
    const { engine, backend } = createFakeEngine(
      { ...WIDE, contextTokens: 512, capabilities: { ...WIDE.capabilities, kvExport: true } },
      { prefixCache: { memoryBytes: 1 << 20 } },
    );
    await answer(engine, request(70, 1));
    await engine.prefixCache!.stats();
    const stream = answer(engine, request(4, 200, { promptTokens: ids(4, 5) }));
    await backend.whenGiven(10);
    const { kv } = backend;
    const restore = kv!.restore.bind(kv);
    let letGo: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    kv!.restore = async (...args) => {
      await gate;
      return restore(...args);
    };
    const cached = answer(engine, request(70, 1));
    await backend.whenGiven(60);
    letGo();
    expect((await cached).start.cachedTokens).to.equal(64);
    expect((await stream).ids).to.have.length(200);
  });

  it('numeric-fault: takes the sequence that the backend names, and the others of the step give what they give alone', async () => {
    const alone = await Promise.all([5, 6, 7].map((length) => answer(createFakeEngine().engine, request(length, 12))));
    const { engine, backend } = createFakeEngine({
      completion: 'task',
      capabilities: { runAhead: 3 },
      failStep: (step) =>
        step === 9 ? new TokenglassError('numeric-fault', 'Cannot sample', { details: { sequence: 2 } }) : undefined,
    });
    const runs = [5, 6, 7].map((length) => answer(engine, request(length, 12)));
    expect(await rejection(runs[1]!)).to.have.property('code', 'numeric-fault');
    expect((await runs[0]!).ids).to.deep.equal(alone[0]!.ids);
    expect((await runs[2]!).ids).to.deep.equal(alone[2]!.ids);
    await settle();
    expect(backend.openSequences).to.equal(0);
  });

  it('grammar: an answer held to one, in a batch with others and preempted, keeps to it and gives what it gives alone', async () => {
    const options = { contextTokens: 128, capabilities: { grammarMask: true, runAhead: 4, maxBatch: 4 } };
    const held = request(20, 60, { grammar: { type: 'json' }, ignoreEos: false });
    const alone = await answer(createFakeEngine(options, { compileGrammar: digits }).engine, held);
    expect(alone.text).to.match(/^[0-9]+$/);
    const { engine, backend } = createFakeEngine(
      { ...options, kvTokens: 160, completion: 'task' },
      { compileGrammar: digits },
    );
    const low = answer(engine, { ...held, priority: 'low' });
    await backend.whenGiven(12);
    const others = [request(20, 100), request(30, 90)].map((one) => answer(engine, one));
    expect((await low).ids).to.deep.equal(alone.ids);
    expect((await low).end.trace.preemptions).to.be.above(0);
    await Promise.all(others);
    expect(backend.openSequences).to.equal(0);
  });

  it('abort: of requests that run, wait and are let in, those that stay give what they give alone', async () => {
    const { engine, backend } = createFakeEngine({ completion: 'task', capabilities: { maxBatch: 3, runAhead: 2 } });
    const controller = new AbortController();
    const runs = Array.from({ length: 9 }, (_, index) =>
      collect(engine.generate(request(6 + index, 12), index % 2 ? controller.signal : undefined)),
    );
    const aborted = runs.filter((_, index) => index % 2).map((run) => rejection(run));
    await backend.whenGiven(4);
    controller.abort();
    for (const error of await Promise.all(aborted)) expect(error.name).to.equal('AbortError');
    for (const [index, run] of runs.entries())
      if (index % 2 === 0)
        expect((await run).ids).to.deep.equal((await answer(createFakeEngine().engine, request(6 + index, 12))).ids);
  });
});

/** Digits for ever; each mask comes a task later than it could. */
const digits: CompileGrammar = () =>
  Promise.resolve({
    isDone: false,
    mask: async () => {
      await new Promise((resolve) => setTimeout(resolve));
      const mask = new Uint32Array(Math.ceil(BYTE_VOCAB_SIZE / 32));
      for (let id = 48; id < 58; id++) mask[id >> 5]! |= 1 << (id & 31);
      return mask;
    },
    accept: (id) => id >= 48 && id < 58,
    dispose: () => undefined,
  });
