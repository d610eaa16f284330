import type { LocalEngine } from '../../engine/local-engine.ts';
import type { FakeBackend, FakeBackendOptions } from '../../engine/testing/fake-backend.ts';
import { createFakeEngine } from '../../engine/testing/fake-engine.ts';
import type { BlockHash } from '../hash.ts';
import { KvDatabase } from '../kv-database.ts';

export interface CachedEngineOptions extends FakeBackendOptions {
  memoryBytes?: number;
  storedBytes?: number;
  /** Absent: nothing is stored. */
  database?: string;
  hash?: BlockHash;
}

/** An engine on the fake backend with a prefix cache. */
export function createCachedEngine(options: CachedEngineOptions = {}): { engine: LocalEngine; backend: FakeBackend } {
  const { memoryBytes = 2 ** 30, storedBytes = 2 ** 30, database, hash, ...backend } = options;
  return createFakeEngine(
    { contextTokens: 512, ...backend, capabilities: { kvExport: true, ...backend.capabilities } },
    {
      prefixCache: {
        memoryBytes,
        ...(database !== undefined && {
          stored: { database: new KvDatabase(database), budgetBytes: storedBytes },
        }),
        ...(hash && { hash }),
      },
    },
  );
}

/** A name of a database that no other test has. */
export const freshDatabase = (): string => `tokenglass-kv-test-${crypto.randomUUID()}`;

/** An 8-bit hash: names collide all the time. */
export const tinyHash: BlockHash = (words) =>
  (words.reduce((sum, word) => (sum * 31 + word) & 255, 7) & 255).toString();
