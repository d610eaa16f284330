import { FILE_ENGINE_NAMES, type EngineName } from '../src/shared/engines.ts';

const PAGE_ENGINES: readonly EngineName[] = ['auto', ...FILE_ENGINE_NAMES];

/** What the address of the page asks for. */
export interface PageOptions {
  /** `?engine=` auto, or a name of {@link FILE_ENGINE_NAMES} @default 'auto' */
  engine: EngineName;
  /** `?model=` a catalog name or the URL of a model @default 'tutor' */
  model: string;
  /** `?worker=off` runs the engine in the page itself @default true */
  worker: boolean;
  /** `?q=` is asked as soon as the page is there; absent for none */
  question?: string;
  /** `?maxTokens=` @default 256 */
  maxTokens: number;
  /** `?temperature=` @default 0 (greedy) */
  temperature: number;
}

const isEngine = (value: string | null): value is EngineName => PAGE_ENGINES.includes(value as EngineName);

/** A number of the address, or the default if it is not one in that range. */
function numberOf(query: URLSearchParams, name: string, fallback: number, least: number): number {
  const text = query.get(name);
  const value = Number(text);
  return text !== null && text !== '' && Number.isFinite(value) && value >= least ? value : fallback;
}

export function readPageOptions(search: string): PageOptions {
  const query = new URLSearchParams(search);
  const engine = query.get('engine');
  const question = query.get('q');
  return {
    engine: isEngine(engine) ? engine : 'auto',
    model: query.get('model') ?? 'tutor',
    worker: query.get('worker') !== 'off',
    ...(question !== null && question !== '' && { question }),
    maxTokens: Math.floor(numberOf(query, 'maxTokens', 256, 1)),
    temperature: numberOf(query, 'temperature', 0, 0),
  };
}
