import type { Scenario } from './scenario.ts';

/**
 * Scenarios by the names that `--scenario` takes. One named `prefix-cache` lies in `prefix-cache.ts` beside this file, and is
 * imported when it is run; the command line lists them by their files, without building anything.
 */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'prefix-cache': async (context) => (await import('./prefix-cache.ts')).prefixCache(context),
  clock: async (context) => (await import('./clock.ts')).clock(context),
  overhead: async (context) => (await import('./overhead.ts')).overhead(context),
  speculative: async (context) => (await import('./speculative.ts')).speculative(context),
  batching: async (context) => (await import('./batching.ts')).batching(context),
  diagnosis: async (context) => (await import('./diagnosis.ts')).diagnosis(context),
};
