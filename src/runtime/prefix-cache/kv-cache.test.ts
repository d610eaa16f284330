import { expect } from 'chai';
import type { GenerateRequest } from '../../shared/generation.ts';
import type { Engine } from '../request/engine.ts';
import { answer, settle } from '../engine/testing/collect.ts';
import { createFakeEngine } from '../engine/testing/fake-engine.ts';
import { ttftParts } from '../metrics/ttft.ts';
import { SeededRandom } from '../models/testing/random.ts';
import { createCachedEngine, freshDatabase, tinyHash } from './testing/cached-engine.ts';

const OUTPUT = 12;
const BORDERS = [1, 31, 32, 33, 64, 65];

const idsOf = (length: number, seed: number): number[] => {
  const random = new SeededRandom(seed);
  return Array.from({ length }, () => 32 + random.integer(95));
};

const requestOf = (promptTokens: readonly number[]): GenerateRequest => ({
  promptTokens,
  maxTokens: OUTPUT,
  ignoreEos: true,
});

/** What an engine without a cache answers. */
async function cold(promptTokens: readonly number[]): Promise<number[]> {
  const { engine } = createFakeEngine({ contextTokens: 512 });
  const { ids } = await answer(engine, requestOf(promptTokens));
  await engine[Symbol.asyncDispose]();
  return ids;
}

/** Tokens whose KV could be there: whole blocks, and not the last token. */
const wholeBlocks = (tokens: number): number => Math.floor(tokens / 32) * 32;

async function using<Result>(engine: Engine, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } finally {
    await engine[Symbol.asyncDispose]();
  }
}

describe('KvCache', () => {
  for (const length of BORDERS)
    it(`restore: a prompt of ${length} tokens gives the same tokens cold, from memory, and after a reload`, async () => {
      const database = freshDatabase();
      const prompt = idsOf(length, length);
      const expected = await cold(prompt);
      const { engine } = createCachedEngine({ database });
      await using(engine, async () => {
        const first = await answer(engine, requestOf(prompt));
        expect(first.ids).to.deep.equal(expected);
        expect(first.end.usage.cachedByTier).to.deep.equal({ memory: 0, stored: 0 });
        await engine.prefixCache!.stats();
        const again = await answer(engine, requestOf(prompt));
        expect(again.ids).to.deep.equal(expected);
        expect(again.start.cachedTokens).to.equal(wholeBlocks(length - 1));
        expect(again.end.usage.cachedByTier).to.deep.equal({ memory: wholeBlocks(length - 1), stored: 0 });
      });
      const reloaded = createCachedEngine({ database });
      await using(reloaded.engine, async () => {
        const { ids, end } = await answer(reloaded.engine, requestOf(prompt));
        expect(ids).to.deep.equal(expected);
        expect(end.usage.cachedTokens).to.equal(wholeBlocks(length - 1));
        expect(end.usage.cachedByTier).to.deep.equal({ memory: 0, stored: wholeBlocks(length - 1) });
      });
    });

  it('restore: prompts that fork at every place within three blocks share whole blocks before the fork and nothing else', async () => {
    const trunk = idsOf(96, 1);
    const { engine, backend } = createCachedEngine();
    await using(engine, async () => {
      await answer(engine, requestOf(trunk));
      for (const fork of [0, 1, 30, 31, 32, 33, 47, 63, 64, 65, 95]) {
        const prompt = [...trunk.slice(0, fork), 31, ...idsOf(70, 100 + fork)];
        const { ids, end } = await answer(engine, requestOf(prompt));
        expect(ids, `fork at ${fork}`).to.deep.equal(await cold(prompt));
        expect(end.usage.cachedTokens, `fork at ${fork}`).to.equal(wholeBlocks(fork));
      }
    });
    expect(backend.openSequences).to.equal(0);
    expect(backend.kv!.held.size, 'blocks still held after the end').to.equal(0);
  });

  it('restore: the next turn of a chat reuses the ids that were generated', async () => {
    const { engine } = createCachedEngine();
    await using(engine, async () => {
      const prompt = idsOf(40, 2);
      const { ids } = await answer(engine, { ...requestOf(prompt), maxTokens: 30 });
      const next = [...prompt, ...ids, ...idsOf(9, 3)];
      const { end, ids: second } = await answer(engine, requestOf(next));
      // All 70 but the last, which was sampled and never fed: two blocks.
      expect(end.usage.cachedTokens).to.equal(64);
      expect(second).to.deep.equal(await cold(next));
    });
  });

  it('restore: sampled, penalised answers are those without the cache', async () => {
    const { engine } = createCachedEngine();
    const plain = createFakeEngine({ contextTokens: 512 });
    const request = { ...requestOf(idsOf(70, 4)), sampling: { temperature: 1.1, seed: 9, frequencyPenalty: 0.5 } };
    await using(engine, async () => {
      const expected = await answer(plain.engine, request);
      for (let turn = 0; turn < 3; turn++) expect((await answer(engine, request)).ids).to.deep.equal(expected.ids);
    });
    await plain.engine[Symbol.asyncDispose]();
  });

  it('restore: an 8-bit hash never serves wrong KV, in memory and after reloads', async () => {
    const database = freshDatabase();
    const random = new SeededRandom(5);
    const trunks = Array.from({ length: 6 }, (_, index) => idsOf(64, 200 + index));
    let cached = 0;
    for (let reload = 0; reload < 3; reload++) {
      const { engine } = createCachedEngine({ database, hash: tinyHash });
      await using(engine, async () => {
        for (let turn = 0; turn < 40; turn++) {
          const fork = random.integer(64);
          const prompt = [
            ...trunks[random.integer(6)]!.slice(0, fork),
            ...idsOf(40 + random.integer(90), random.uint32()),
          ];
          const { ids, end } = await answer(engine, requestOf(prompt));
          expect(ids).to.deep.equal(await cold(prompt));
          cached += end.usage.cachedTokens;
        }
      });
    }
    expect(cached, 'the cache did something').to.be.greaterThan(0);
  });

  it('restore: a hash that is the same for everything serves no wrong KV', async () => {
    const database = freshDatabase();
    for (let reload = 0; reload < 2; reload++) {
      const { engine } = createCachedEngine({ database, hash: () => 'x' });
      await using(engine, async () => {
        for (const seed of [1, 2, 1, 3, 2, 1]) {
          const prompt = idsOf(100, seed);
          expect((await answer(engine, requestOf(prompt))).ids).to.deep.equal(await cold(prompt));
        }
      });
    }
  });

  it('restore: what a preempted answer finds of itself is no hit', async () => {
    const { engine } = createCachedEngine({ contextTokens: 160, kvTokens: 192, capabilities: { maxBatch: 3 } });
    await using(engine, async () => {
      const runs = await Promise.all(
        [1, 2, 3].map((seed) =>
          answer(engine, { promptTokens: idsOf(60, 500 + seed), maxTokens: 60, ignoreEos: true }),
        ),
      );
      expect(runs.some(({ end }) => (end.trace.preemptions ?? 0) > 0)).to.equal(true);
      const stats = await engine.prefixCache!.stats();
      expect(stats).to.include({ lookups: 3, hitRate: 0 });
    });
  });

  it('restore: random prompts give a hit rate of 0, also after eviction and reloads', async () => {
    const database = freshDatabase();
    for (let reload = 0; reload < 2; reload++) {
      const { engine } = createCachedEngine({ database, memoryBytes: 132 * 8, storedBytes: 132 * 12 });
      await using(engine, async () => {
        for (let turn = 0; turn < 12; turn++) await answer(engine, requestOf(idsOf(100, 1000 + reload * 100 + turn)));
        const stats = await engine.prefixCache!.stats();
        expect(stats.hitRate).to.equal(0);
        expect(stats.lookups).to.equal(12);
        expect(stats.memory.bytes).to.be.at.most(132 * 8);
        expect(stats.memory.evicted).to.be.greaterThan(0);
        expect(stats.stored!.bytes).to.be.within(1, 132 * 12);
        expect(stats.stored!.evicted).to.be.greaterThan(0);
      });
    }
  });

  it('restore: an engine of other weights finds nothing, and gives its own answer', async () => {
    const database = freshDatabase();
    const prompt = idsOf(100, 6);
    const { engine } = createCachedEngine({ database });
    await using(engine, () => answer(engine, requestOf(prompt)));
    const replaced = createCachedEngine({ database, fingerprint: 'replaced under the same name' });
    await using(replaced.engine, async () => {
      const { end } = await answer(replaced.engine, requestOf(prompt));
      expect(end.usage.cachedTokens).to.equal(0);
    });
  });

  it('restore: two engines with one database, as two tabs, share what either computed', async () => {
    const database = freshDatabase();
    const [one, two] = [createCachedEngine({ database }), createCachedEngine({ database })];
    const prompts = [idsOf(100, 7), idsOf(130, 8)];
    for (const [tab, prompt] of [
      [one, prompts[0]!],
      [two, prompts[1]!],
    ] as const) {
      await answer(tab.engine, requestOf(prompt));
      await tab.engine.prefixCache!.stats();
    }
    const other = await answer(two.engine, requestOf(prompts[0]!));
    expect(other.end.usage.cachedByTier).to.deep.equal({ memory: 0, stored: 96 });
    expect(other.ids).to.deep.equal(await cold(prompts[0]!));
    expect((await answer(one.engine, requestOf(prompts[1]!))).end.usage.cachedByTier!.stored).to.equal(128);
    for (const { engine } of [one, two]) await engine[Symbol.asyncDispose]();
  });

  it('trace: looking up and restoring is a part of TTFT of its own', async () => {
    const clock = { ms: 1000 };
    const { engine } = createCachedEngine({ clock: { now: () => clock.ms++ } });
    await using(engine, async () => {
      await answer(engine, requestOf(idsOf(64, 9)));
      const { trace } = (await answer(engine, requestOf(idsOf(64, 9)))).end;
      const { marks } = trace;
      expect(marks.cacheReadyMs).to.be.within(marks.tokenizedMs!, marks.prefilledMs!);
      expect(ttftParts(trace)).to.have.property('cacheMs').greaterThan(0);
    });
  });

  it('keep: an aborted request leaves what it computed, and the next one is right', async () => {
    const { engine } = createCachedEngine({ completion: 'task', capabilities: { runAhead: 3, kvExport: true } });
    const prompt = idsOf(200, 10);
    await using(engine, async () => {
      for (let stopAt = 0; stopAt < 4; stopAt++) {
        const controller = new AbortController();
        const aborted = answer(engine, requestOf(prompt), controller.signal).catch(() => undefined);
        for (let turn = 0; turn < stopAt * 6; turn++) await new Promise((resolve) => setTimeout(resolve));
        controller.abort();
        await aborted;
        await settle();
      }
      expect((await answer(engine, requestOf(prompt))).ids).to.deep.equal(await cold(prompt));
    });
  });

  it('keep: with steps in flight, a prompt is stored before its answer has ended', async () => {
    const database = freshDatabase();
    const { engine, backend } = createCachedEngine({
      database,
      completion: 'manual',
      capabilities: { runAhead: 2, kvExport: true, maxStepTokens: 128 },
    });
    const prompt = idsOf(100, 14);
    const running = answer(engine, requestOf(prompt));
    await backend.whenGiven(2);
    backend.complete();
    await backend.whenGiven(3);
    await engine.prefixCache!.stats();
    const other = createCachedEngine({ database });
    const { end } = await answer(other.engine, requestOf(prompt));
    expect(end.usage.cachedByTier!.stored).to.equal(96);
    backend.release();
    expect((await running).ids).to.deep.equal(await cold(prompt));
    for (const made of [engine, other.engine]) await made[Symbol.asyncDispose]();
  });

  it('restore: what fails in the backend is computed instead', async () => {
    const { engine, backend } = createCachedEngine();
    const prompt = idsOf(100, 11);
    await using(engine, async () => {
      await answer(engine, requestOf(prompt));
      backend.kv!.restore = () => Promise.reject(new RangeError('a fault of this test'));
      const { ids, end } = await answer(engine, requestOf(prompt));
      expect(ids).to.deep.equal(await cold(prompt));
      expect(end.usage.cachedTokens).to.equal(0);
    });
    expect(backend.openSequences).to.equal(0);
  });

  it('onMemoryNeeded: gives blocks up one after the other, the end of the least recently used chain first', async () => {
    const { engine, backend } = createCachedEngine();
    await using(engine, async () => {
      await answer(engine, requestOf(idsOf(65, 12)));
      await answer(engine, requestOf(idsOf(65, 13)));
      await engine.prefixCache!.stats();
      const before = backend.kv!.held.size;
      expect(backend.kv!.onMemoryNeeded!()).to.equal(true);
      expect(backend.kv!.held.size).to.equal(before - 1);
      expect((await answer(engine, requestOf(idsOf(65, 13)))).end.usage.cachedTokens).to.equal(64);
      expect((await answer(engine, requestOf(idsOf(65, 12)))).end.usage.cachedTokens).to.equal(32);
      while (backend.kv!.onMemoryNeeded!());
      expect(backend.kv!.held.size).to.equal(0);
    });
  });
});
