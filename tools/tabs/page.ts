// What the tabs of tabs.node.test.mjs run: our own modules, driven from outside, in pages that are then killed.
import { nameBlocks } from '../../src/runtime/prefix-cache/block-names.ts';
import { checksum, hashWords } from '../../src/runtime/prefix-cache/hash.ts';
import { KvDatabase } from '../../src/runtime/prefix-cache/kv-database.ts';
import { StoredTier } from '../../src/runtime/prefix-cache/stored-tier.ts';
import {
  KILLED_BLOCK_BYTES,
  KILLED_BLOCKS,
  KILLED_SCOPE,
  killedBlock,
  killedTokens,
} from '../../src/runtime/prefix-cache/testing/killed-chain.ts';
import { createModelStore } from '../../src/runtime/models/store/model-store.ts';
import { storedSource } from '../../src/runtime/models/stored-source.ts';
import { createUrlSource } from '../../src/runtime/models/url-source.ts';

const store = createModelStore({ chunkBytes: 2 ** 18 });
const labels = new Set<string>();

/** Loads a file through the weight store, as an engine does, and gives what was read. */
async function load(folder: string, path: string): Promise<{ sha256: string; bytes: number }> {
  const source = storedSource(createUrlSource(folder, { id: folder }), {
    store,
    onProgress: ({ label }) => labels.add(label),
  });
  const { stream } = await source.open(path);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of stream) pieces.push(piece as Uint8Array<ArrayBuffer>);
  const whole = await new Blob(pieces).arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
  return { sha256: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''), bytes: whole.byteLength };
}

/** What the weight store holds of a model. */
async function stored(folder: string): Promise<{ bytes: number; isComplete: boolean; strayChunks: number }> {
  const found = (await store.list()).find(({ id }) => id === folder);
  const strayChunks = await store.internals.database.countStrayChunks();
  return { bytes: found?.storedBytes ?? 0, isComplete: found?.isComplete ?? false, strayChunks };
}

const tierOf = (database: string): StoredTier =>
  new StoredTier({
    database: new KvDatabase(database),
    scope: KILLED_SCOPE,
    blockBytes: KILLED_BLOCK_BYTES,
    budgetBytes: 2 ** 30,
    now: () => 0,
  });

/** Stores blocks of KV, two at a time, until it is killed or done; tells of each write as it begins. */
async function writeBlocks(database: string, onWrite: (from: number) => unknown): Promise<void> {
  const keys = nameBlocks(KILLED_SCOPE, killedTokens, hashWords);
  const tier = tierOf(database);
  for (let from = await tier.touch(keys); from < KILLED_BLOCKS; from += 2) {
    void onWrite(from);
    await tier.put(keys, from, [killedBlock(from), killedBlock(from + 1)]);
  }
  void onWrite(KILLED_BLOCKS);
}

/** What is stored of those blocks, from the first one on; how many of those from `since` on are wrong. */
async function readBlocks(
  database: string,
  since = 0,
): Promise<{ blocks: number; wrong: number; rejected: number; of: number }> {
  const tier = tierOf(database);
  const found = await tier.find(nameBlocks(KILLED_SCOPE, killedTokens, hashWords), 0);
  const wrong = found.filter(
    (bytes, index) => index >= since && checksum(bytes) !== checksum(killedBlock(index)),
  ).length;
  return { blocks: found.length, wrong, rejected: tier.rejected, of: KILLED_BLOCKS };
}

const tab = { load, stored, labels: () => [...labels], writeBlocks, readBlocks };

declare global {
  interface Window {
    tab: typeof tab;
  }
}

window.tab = tab;
