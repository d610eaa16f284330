// Names that `--scenario` takes: one file each in src/runtime/bench/scenarios/, named after it.
import { readdirSync } from 'node:fs';

const NOT_SCENARIOS = ['index.ts', 'scenario.ts'];

export const SCENARIOS = readdirSync(new URL('../src/runtime/bench/scenarios/', import.meta.url))
  .filter((file) => /^[\w-]+\.ts$/.test(file) && !NOT_SCENARIOS.includes(file))
  .map((file) => file.replace(/\.ts$/, ''));

/** @throws Error in a sentence for a name that is no scenario */
export function checkScenario(name) {
  if (SCENARIOS.includes(name)) return name;
  throw new Error(
    `Cannot run the scenario "${name}": there is none; take one of ${SCENARIOS.join(', ') || '(none yet)'}`,
  );
}
