import { nameBlocks } from '../block-names.ts';
import { hashWords } from '../hash.ts';
import { KvDatabase } from '../kv-database.ts';
import { StoredTier } from '../stored-tier.ts';
import { KILLED_BLOCK_BYTES, KILLED_BLOCKS, KILLED_SCOPE, killedBlock, killedTokens } from './killed-chain.ts';

/** Stores a chain, two blocks at a time, until it is killed; tells of each write as it begins. */
addEventListener('message', ({ data: name }: MessageEvent<string>) => void store(name));

async function store(name: string): Promise<void> {
  const tier = new StoredTier({
    database: new KvDatabase(name),
    scope: KILLED_SCOPE,
    blockBytes: KILLED_BLOCK_BYTES,
    budgetBytes: 2 ** 30,
    now: () => 0,
  });
  const keys = nameBlocks(KILLED_SCOPE, killedTokens, hashWords);
  let from = await tier.touch(keys);
  for (; from < KILLED_BLOCKS; from += 2) {
    postMessage(from);
    await tier.put(keys, from, [killedBlock(from), killedBlock(from + 1)]);
  }
  postMessage(from);
}
