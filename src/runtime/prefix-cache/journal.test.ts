import { expect } from 'chai';
import type { GenerateRequest } from '../../shared/generation.ts';
import { collect, rejection, settle } from '../engine/testing/collect.ts';
import { createFakeEngine } from '../engine/testing/fake-engine.ts';
import { endless } from '../engine/testing/requests.ts';
import { SeededRandom } from '../models/testing/random.ts';
import { Journal, type JournalOptions, type JournalRequest } from './journal.ts';
import { KvDatabase } from './kv-database.ts';
import { createCachedEngine, freshDatabase } from './testing/cached-engine.ts';

const REQUEST: JournalRequest = {
  prompt: 'The KV cache',
  promptTokens: [1, 2, 3],
  sampling: {
    temperature: 0,
    topP: 1,
    topK: 0,
    minP: 0,
    repetitionPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: { 5: -Infinity },
    seed: 0,
  },
  maxTokens: 10,
  stop: [],
  stopIds: [],
  logprobs: 0,
};

/** Journals on one database, as those of several tabs, with locks that a test takes away. */
function makeJournals(
  count: number,
  options: Partial<JournalOptions> = {},
): { journals: Journal[]; alive: Set<string> } {
  const alive = new Set<string>();
  const locks = {
    request: (name: string, work: () => Promise<void>) => {
      alive.add(name);
      return work();
    },
    query: () => Promise.resolve({ held: [...alive].map((name) => ({ name })) }),
  } as unknown as LockManager;
  const name = freshDatabase();
  const make = (): Journal =>
    new Journal({ database: new KvDatabase(name), scope: 'a model', now: () => 0, locks, ...options });
  return { journals: Array.from({ length: count }, make), alive };
}

describe('Journal', () => {
  it('list: an answer is there once its engine is gone, and not before', async () => {
    const { journals, alive } = makeJournals(2);
    journals[0]!.begin('a', REQUEST, [7]);
    await journals[0]!.settled();
    expect(await journals[1]!.list()).to.deep.equal([]);
    expect(await journals[0]!.list(), 'nor for its own engine').to.deep.equal([]);
    alive.clear();
    const [entry] = await journals[1]!.list();
    expect(entry).to.deep.include({ id: 'a', output: [7], request: REQUEST });
  });

  it('list: not what has ended, and not what another model made', async () => {
    const { journals } = makeJournals(1);
    const [journal] = journals;
    journal!.begin('done', REQUEST).end('done');
    journal!.begin('cut', REQUEST).end('cut');
    expect((await journal!.list()).map(({ id }) => id)).to.deep.equal(['cut']);
    const { journals: others } = makeJournals(1, { scope: 'another model' });
    expect(await others[0]!.list()).to.deep.equal([]);
  });

  it('claim: of two tabs one gets it', async () => {
    const { journals } = makeJournals(3);
    journals[0]!.begin('a', REQUEST).end('cut');
    await journals[0]!.settled();
    const claims = await Promise.all(journals.slice(1).map((journal) => journal.claim('a')));
    expect(claims.filter((claim) => claim !== undefined)).to.have.length(1);
    expect(await journals[1]!.claim('a')).to.equal(undefined);
  });

  it('token: is written at most every 250 ms, and all of it at a cut', async () => {
    let nowMs = 0;
    const { journals, alive } = makeJournals(2, { now: () => nowMs });
    const writer = journals[0]!.begin('a', REQUEST);
    await journals[0]!.settled();
    const put = IDBObjectStore.prototype.put; // eslint-disable-line @typescript-eslint/unbound-method -- called with its `this`
    let writes = 0;
    IDBObjectStore.prototype.put = function (...args) {
      writes += 1;
      return put.apply(this, args);
    };
    try {
      for (let token = 0; token < 100; token++) {
        nowMs += 10;
        writer.token(token);
        await journals[0]!.settled();
      }
    } finally {
      IDBObjectStore.prototype.put = put;
    }
    expect(writes).to.equal(4);
    alive.clear();
    expect((await journals[1]!.list())[0]!.output, 'what a crash leaves').to.have.length(100);
    writer.token(100);
    writer.end('cut');
    expect((await journals[0]!.list())[0]!.output).to.have.length(101);
  });
});

describe('LocalEngine.resume', () => {
  const request: GenerateRequest = { prompt: 'x'.repeat(70), maxTokens: 60, ignoreEos: true };

  for (const [kind, sampling] of [
    ['greedy', {}],
    ['sampled and penalised', { temperature: 1.1, seed: 4, frequencyPenalty: 0.3 }],
  ] as const)
    it(`resume: ${kind}, cut at 10 random tokens, goes on with the same tokens and text`, async () => {
      const plain = createFakeEngine({ contextTokens: 512 });
      const expected = await collect(plain.engine.generate({ ...request, sampling }));
      const random = new SeededRandom(1);
      for (let turn = 0; turn < 10; turn++) {
        const database = freshDatabase();
        const cutAfter = random.integer(60);
        const cut = createCachedEngine({ database, completion: 'task' });
        let tokens = 0;
        const run = async (): Promise<void> => {
          for await (const event of cut.engine.generate({ ...request, sampling })) {
            if (event.type === 'delta') tokens += event.tokens.length;
            if (tokens >= cutAfter) await cut.engine[Symbol.asyncDispose]();
          }
        };
        expect((await rejection(run())).code).to.equal('disposed');

        const { engine } = createCachedEngine({ database });
        const [answer] = await engine.resumable!();
        expect(answer).to.include({ prompt: request.prompt });
        expect(expected.text.startsWith(answer!.text)).to.equal(true);
        const resumed = await collect(engine.resume!(answer!.id));
        expect(resumed.text).to.equal(expected.text);
        expect(resumed.ids).to.deep.equal(expected.ids.slice(answer!.outputTokens));
        expect(resumed.end.usage.resumedTokens ?? 0).to.equal(answer!.outputTokens);
        expect(resumed.end.usage.completionTokens).to.equal(60 - answer!.outputTokens);
        expect(await engine.resumable!(), 'it is done now').to.deep.equal([]);
        await engine[Symbol.asyncDispose]();
      }
      await plain.engine[Symbol.asyncDispose]();
    });

  it('resume: cut twice, it still goes on; stop strings and the context hold', async () => {
    const database = freshDatabase();
    const stops: GenerateRequest = { prompt: 'x', maxTokens: 40, ignoreEos: true, stop: ['never'] };
    for (const cutAfter of [5, 11]) {
      const { engine } = createCachedEngine({ database, completion: 'task', nextToken: endless });
      const [answer] = await engine.resumable!();
      let tokens = 0;
      const events = answer ? engine.resume!(answer.id) : engine.generate(stops);
      const run = async (): Promise<void> => {
        for await (const event of events) {
          if (event.type === 'delta') tokens += event.tokens.length;
          if (tokens >= cutAfter) await engine[Symbol.asyncDispose]();
        }
      };
      expect((await rejection(run())).code).to.equal('disposed');
    }
    const { engine } = createCachedEngine({ database, nextToken: endless });
    const [answer] = await engine.resumable!();
    expect(answer!.outputTokens).to.be.at.least(16);
    const { text, end } = await collect(engine.resume!(answer!.id));
    expect(text).to.equal('x'.repeat(40));
    expect(end.finishReason).to.equal('length');
    await engine[Symbol.asyncDispose]();
  });

  it('resumable: nothing after a completed or an aborted answer, nor after discard or clear', async () => {
    const database = freshDatabase();
    const { engine } = createCachedEngine({ database, completion: 'task' });
    await collect(engine.generate(request));
    for await (const event of engine.generate(request)) if (event.type === 'delta') break;
    await settle();
    expect(await engine.resumable!()).to.deep.equal([]);
    await engine[Symbol.asyncDispose]();
    for (const forget of ['discard', 'clear'] as const) {
      const cut = createCachedEngine({ database, completion: 'task' });
      const run = async (): Promise<void> => {
        for await (const event of cut.engine.generate(request))
          if (event.type === 'delta') await cut.engine[Symbol.asyncDispose]();
      };
      await rejection(run());
      const next = createCachedEngine({ database });
      const [answer] = await next.engine.resumable!();
      if (forget === 'discard') await next.engine.discard!(answer!.id);
      else await next.engine.prefixCache!.clear();
      expect(await next.engine.resumable!()).to.deep.equal([]);
      expect((await rejection(collect(next.engine.resume!(answer!.id)))).code).to.equal('invalid-request');
      await next.engine[Symbol.asyncDispose]();
    }
  });
});
