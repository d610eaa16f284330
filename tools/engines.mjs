import { FILE_ENGINE_NAMES } from '../src/shared/engines.ts';

/** Names that `--engine` takes. */
export const ENGINES = ['auto', ...FILE_ENGINE_NAMES];

/** Those that bring a model of their own: only a benchmark can name them. */
export const BENCH_ENGINES = [...ENGINES, 'web-llm', 'endpoint'];

/** @throws Error in a sentence for a name that is no engine */
export function checkEngine(name, engines = ENGINES) {
  if (engines.includes(name)) return name;
  throw new Error(`Cannot run "${name}": it is no engine here; take one of ${engines.join(', ')}`);
}
