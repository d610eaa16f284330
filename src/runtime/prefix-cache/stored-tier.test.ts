import { get, set, createStore, keys as allKeys } from 'idb-keyval';
import { expect } from 'chai';
import { SeededRandom } from '../models/testing/random.ts';
import type { BlockKey } from './block-names.ts';
import { nameBlocks } from './block-names.ts';
import { checksum, hashWords } from './hash.ts';
import { KvDatabase } from './kv-database.ts';
import { StoredTier, type StoredTierOptions } from './stored-tier.ts';
import { freshDatabase } from './testing/cached-engine.ts';
import { KILLED_BLOCK_BYTES, KILLED_BLOCKS, KILLED_SCOPE, killedBlock, killedTokens } from './testing/killed-chain.ts';

const BLOCK_BYTES = 1024;
const SCOPE = 'a model';

const bytesOf = (seed: number): Uint8Array<ArrayBuffer> => {
  const random = new SeededRandom(seed);
  return Uint8Array.from({ length: BLOCK_BYTES }, () => random.integer(256));
};

const chainOf = (blocks: number, seed: number): { keys: BlockKey[]; data: Uint8Array<ArrayBuffer>[] } => {
  const random = new SeededRandom(seed);
  const tokens = Array.from({ length: blocks * 32 }, () => random.integer(1000));
  return {
    keys: nameBlocks(SCOPE, tokens, hashWords),
    data: Array.from({ length: blocks }, (_, index) => bytesOf(seed * 100 + index)),
  };
};

interface Made {
  tier: StoredTier;
  /** The rows as anybody can reach them. */
  rows: ReturnType<typeof createStore>;
  reopen: (options?: Partial<StoredTierOptions>) => StoredTier;
}

function makeTier(options: Partial<StoredTierOptions> = {}): Made {
  const name = freshDatabase();
  const reopen = (again: Partial<StoredTierOptions> = {}): StoredTier =>
    new StoredTier({
      database: new KvDatabase(name),
      scope: SCOPE,
      blockBytes: BLOCK_BYTES,
      budgetBytes: 2 ** 30,
      now: () => 0,
      ...options,
      ...again,
    });
  return { tier: reopen(), rows: createStore(name, 'rows'), reopen };
}

/** A tier that stores a chain of three blocks, of which the second is then changed by `damage`. */
async function damaged(
  damage: (row: { record: Record<string, unknown>; data: Uint8Array }) => {
    record?: unknown;
    data?: unknown;
  },
): Promise<{ tier: StoredTier; rows: Made['rows']; chain: ReturnType<typeof chainOf> }> {
  const { tier, rows, reopen } = makeTier();
  const chain = chainOf(3, 1);
  expect(await tier.put(chain.keys, 0, chain.data)).to.equal(true);
  const { name } = chain.keys[1]!;
  const record = (await get<Record<string, unknown>>(`record/${name}`, rows))!;
  const data = (await get<Uint8Array>(`data/${name}`, rows))!;
  const changed = damage({ record, data });
  if ('record' in changed) await set(`record/${name}`, changed.record, rows);
  if ('data' in changed) await set(`data/${name}`, changed.data, rows);
  return { tier: reopen(), rows, chain };
}

describe('StoredTier', () => {
  it('find: what was put, from any block on, in this tier and after a reload', async () => {
    const { tier, reopen } = makeTier();
    const { keys, data } = chainOf(5, 1);
    expect(await tier.put(keys, 0, data)).to.equal(true);
    for (const found of [tier, reopen()])
      for (const from of [0, 1, 4]) expect(await found.find(keys, from)).to.deep.equal(data.slice(from));
    expect(await tier.find(keys, 5)).to.deep.equal([]);
    expect(tier.rejected).to.equal(0);
  });

  it('put: a chain may grow, and what is there already stays', async () => {
    const { tier, rows } = makeTier();
    const { keys, data } = chainOf(4, 1);
    await tier.put(keys.slice(0, 2), 0, data.slice(0, 2));
    const before = await get<{ id: string }>(`record/${keys[0]!.name}`, rows);
    await tier.put(keys, 0, data);
    expect((await get<{ id: string }>(`record/${keys[0]!.name}`, rows))!.id).to.equal(before!.id);
    expect(await tier.find(keys, 0)).to.deep.equal(data);
  });

  it('put: not after blocks that are not there', async () => {
    const { tier, rows } = makeTier();
    const { keys, data } = chainOf(3, 1);
    expect(await tier.put(keys, 1, data.slice(1))).to.equal(false);
    expect(await allKeys(rows)).to.deep.equal([]);
  });

  for (const at of [0, 1, 511, 1022, 1023])
    it(`find: a flipped byte at ${at} is rejected and dropped, with what follows`, async () => {
      const { tier, rows, chain } = await damaged(({ data }) => {
        const flipped = data.slice();
        flipped[at]! ^= 1;
        return { data: flipped };
      });
      expect(await tier.find(chain.keys, 0)).to.deep.equal(chain.data.slice(0, 1));
      expect(tier.rejected).to.equal(1);
      expect(await get(`data/${chain.keys[1]!.name}`, rows)).to.equal(undefined);
      // Computed and stored anew, it is found again; what followed the broken one was not computed after the new one.
      await tier.put(chain.keys, 1, chain.data.slice(1));
      expect(await tier.find(chain.keys, 0)).to.deep.equal(chain.data);
    });

  for (const [what, damage] of [
    ['truncated bytes', ({ data }) => ({ data: data.slice(0, 1000) })],
    ['bytes that are not there', () => ({ data: undefined })],
    ['bytes of another type', () => ({ data: 'KV' })],
    ["another model's record", ({ record }) => ({ record: { ...record, scope: 'another model' } })],
    ['another layout version', ({ record }) => ({ record: { ...record, version: 2 } })],
    ['another checksum', ({ record }) => ({ record: { ...record, checksum: 1 } })],
    ['blocks of another size', ({ record }) => ({ record: { ...record, bytes: 512 } })],
    ['a record that is none', () => ({ record: null })],
    ['a record without ids', ({ record }) => ({ record: { ...record, ids: [] } })],
    ['a record after another parent', ({ record }) => ({ record: { ...record, parentId: 'another' } })],
  ] as [string, Parameters<typeof damaged>[0]][])
    it(`find: ${what} end the chain, and are dropped`, async () => {
      const { tier, rows, chain } = await damaged(damage);
      expect(await tier.find(chain.keys, 0)).to.deep.equal(chain.data.slice(0, 1));
      expect(tier.rejected).to.equal(1);
      expect(await get(`record/${chain.keys[1]!.name}`, rows)).to.equal(undefined);
    });

  it('find: a block whose name is right and whose ids are not is not served, and stays', async () => {
    const { tier } = makeTier();
    const [one, two] = [chainOf(2, 1), chainOf(2, 2)];
    const collides = (keys: BlockKey[]): BlockKey[] => keys.map((key, index) => ({ ...key, name: `${index}` }));
    await tier.put(collides(one.keys), 0, one.data);
    expect(await tier.find(collides(two.keys), 0)).to.deep.equal([]);
    expect(await tier.find(collides(one.keys), 0)).to.deep.equal(one.data);
  });

  it('find: a block with the right ids after a replaced one is not served', async () => {
    const { tier } = makeTier();
    const [one, two] = [chainOf(2, 1), chainOf(1, 2)];
    const named = (key: BlockKey, name: string): BlockKey => ({ ...key, name });
    await tier.put([named(one.keys[0]!, 'a'), named(one.keys[1]!, 'b')], 0, one.data);
    // The same name for other tokens, and after them the very same ids as before.
    const second = [named(two.keys[0]!, 'a'), named(one.keys[1]!, 'b')];
    await tier.put(second.slice(0, 1), 0, two.data);
    expect(await tier.find(second, 0)).to.deep.equal(two.data);
  });

  it('put: keeps to the budget, by the end of the least recently used chain', async () => {
    let nowMs = 0;
    const { tier } = makeTier({ budgetBytes: BLOCK_BYTES * 10, now: () => nowMs });
    const chains = [chainOf(4, 1), chainOf(4, 2), chainOf(4, 3)];
    for (const { keys, data } of chains.slice(0, 2)) {
      nowMs += 100_000;
      await tier.put(keys, 0, data);
    }
    nowMs += 100_000;
    expect(await tier.touch(chains[0]!.keys)).to.equal(4);
    nowMs += 100_000;
    await tier.put(chains[2]!.keys, 0, chains[2]!.data);
    expect(await tier.find(chains[0]!.keys, 0)).to.have.length(4);
    expect(await tier.find(chains[2]!.keys, 0)).to.have.length(4);
    expect(await tier.find(chains[1]!.keys, 0)).to.deep.equal(chains[1]!.data.slice(0, 1));
    expect(tier.evicted).to.equal(3);
  });

  it('put: pinned blocks stay, and what there is no room for is not stored', async () => {
    const [pinned, other] = [chainOf(4, 1), chainOf(4, 2)];
    const names = new Set(pinned.keys.map(({ name }) => name));
    const { tier } = makeTier({ budgetBytes: BLOCK_BYTES * 5, isPinned: (name) => names.has(name) });
    await tier.put(pinned.keys, 0, pinned.data);
    expect(await tier.put(other.keys, 0, other.data)).to.equal(false);
    expect(await tier.find(pinned.keys, 0)).to.deep.equal(pinned.data);
    expect(await tier.find(other.keys, 0)).to.deep.equal([]);
  });

  it('put: where the disk is full nothing is thrown or left half written, and room is made', async () => {
    const { tier, rows, reopen } = makeTier();
    const { keys, data } = chainOf(10, 1);
    await tier.put(keys.slice(0, 8), 0, data.slice(0, 8));
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
    const put = IDBObjectStore.prototype.put;
    let left = 1;
    IDBObjectStore.prototype.put = function (...args) {
      if (left-- > 0) return put.apply(this, args);
      throw new DOMException('a fault of this test', 'QuotaExceededError');
    };
    try {
      expect(await tier.put(keys, 8, data.slice(8))).to.equal(false);
    } finally {
      IDBObjectStore.prototype.put = put;
    }
    const found = await reopen().find(keys, 0);
    expect(found.length).to.be.within(1, 4);
    expect(found).to.deep.equal(data.slice(0, found.length));
    expect(await allKeys(rows), 'a record and bytes for each block').to.have.length(found.length * 2);
  });

  it('storage: what is kept beside a block of f16 KV of the built-in model is below 2 % of it', async () => {
    const { tier, rows } = makeTier({ blockBytes: 6 * 2 * 2 * 64 * 2 * 32 });
    const { keys } = chainOf(1, 1);
    const bytes = new Uint8Array(6 * 2 * 2 * 64 * 2 * 32);
    await tier.put(keys, 0, [bytes]);
    const record = (await get<Record<string, unknown>>(`record/${keys[0]!.name}`, rows))!;
    const size = Object.entries(record).reduce((sum, [key, value]) => {
      const length = value instanceof Uint32Array ? value.byteLength : typeof value === 'string' ? 2 * value.length : 8;
      return sum + 2 * key.length + length;
    }, 2 * keys[0]!.name.length);
    expect(size / bytes.byteLength).to.be.below(0.02);
  });

  it('put: killed 20 times in the middle of writes, every later look finds whole blocks, and the chain gets done', async () => {
    const name = freshDatabase();
    const keys = nameBlocks(KILLED_SCOPE, killedTokens, hashWords);
    const random = new SeededRandom(1);
    let stored = 0;
    for (let kill = 0; kill <= 20; kill++) {
      const worker = new Worker(new URL('./testing/writer.worker.ts', import.meta.url), { type: 'module' });
      const writesBefore = 1 + random.integer(2);
      await new Promise<void>((resolve) => {
        let writes = 0;
        worker.onmessage = ({ data: from }: MessageEvent<number>) => {
          writes += 1;
          if (from >= KILLED_BLOCKS || (kill < 20 && writes > writesBefore)) resolve();
        };
        worker.postMessage(name);
      });
      worker.terminate();
      const tier = new StoredTier({
        database: new KvDatabase(name),
        scope: KILLED_SCOPE,
        blockBytes: KILLED_BLOCK_BYTES,
        budgetBytes: 2 ** 30,
        now: () => 0,
      });
      const found = await tier.find(keys, 0);
      expect(found.length, 'nothing that was stored is lost').to.be.at.least(stored);
      expect(found.length % 2, 'both blocks of a write, or none').to.equal(0);
      for (const [index, bytes] of found.entries())
        if (index >= stored) expect(checksum(bytes)).to.equal(checksum(killedBlock(index)));
      expect(tier.rejected).to.equal(0);
      stored = found.length;
    }
    expect(stored).to.equal(KILLED_BLOCKS);
  });

  it('clear: drops the blocks of all models', async () => {
    const { tier, rows, reopen } = makeTier();
    const { keys, data } = chainOf(2, 1);
    await tier.put(keys, 0, data);
    await reopen({ scope: 'another' }).put(chainOf(2, 2).keys, 0, chainOf(2, 2).data);
    await tier.clear();
    expect(await allKeys(rows)).to.deep.equal([]);
  });
});
