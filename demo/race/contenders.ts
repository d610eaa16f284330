import {
  createEndpointEngine,
  createEngine,
  type CreateEngineOptions,
  type Engine,
  type EngineName,
} from '../../src/index.ts';
import { ENGINES, FILE_ENGINE_NAMES, type EngineSetting, type LoadableEngineName } from '../../src/shared/engines.ts';
import type { LoadProgress } from '../../src/index.ts';
import type { LoadRacer } from './adapters/racer.ts';
import type { ServerKeys } from './server-keys.ts';

/** What can be set of a contender; all values as text, as the address has them. */
export const SETTINGS = {
  model: { label: 'Model', hint: 'instead of the one above' },
  cache: { label: 'Prefix cache', choices: ['off', 'on'] },
  threads: { label: 'Threads', hint: 'its own choice' },
  'run-ahead': { label: 'Steps in flight', choices: ['4', '3', '2', '1'] },
  speculation: { label: 'Speculation', choices: ['off', 'prompt-lookup'] },
  context: { label: 'Context, tokens', hint: 'what the model can' },
  worker: { label: 'Runs in', choices: ['worker', 'page'] },
  url: { label: 'Server', hint: 'http://localhost:8000/v1' },
} as const satisfies Record<string, { label: string; hint?: string; choices?: readonly string[] }>;

export type SettingName = keyof typeof SETTINGS;
export type Settings = Partial<Record<SettingName, string>>;

export interface LoadHooks {
  /** Of the race, unless the contender has its own. */
  model: string;
  /** For servers: each is given its own, and no other's. */
  keys: ServerKeys;
  onProgress: (progress: LoadProgress) => void;
  signal: AbortSignal;
}

/** A kind of contender. */
export interface Kind {
  id: string;
  /** For the screen: short. */
  name: string;
  /** What it is, in words for everybody. */
  words: string;
  settings: readonly SettingName[];
  load: (settings: Settings, hooks: LoadHooks) => Promise<Engine>;
}

/** Settings of the race, by the options of an engine that they set. */
const SETTING_OF: Readonly<Partial<Record<EngineSetting, SettingName>>> = {
  prefixCache: 'cache',
  threads: 'threads',
  runAhead: 'run-ahead',
  speculation: 'speculation',
  contextTokens: 'context',
  worker: 'worker',
};

const ours = (id: LoadableEngineName): Kind => ({
  id,
  name: ENGINES[id].label,
  words: ENGINES[id].about,
  settings: ['model', ...ENGINES[id].settings.flatMap((setting) => SETTING_OF[setting] ?? [])],
  load: (settings, hooks) => createEngine(engineOptions(id, settings, hooks)),
});

function engineOptions(
  engine: EngineName,
  { cache, threads, context, worker, model, speculation, 'run-ahead': runAhead }: Settings,
  hooks: LoadHooks,
): CreateEngineOptions {
  return {
    model: model ?? hooks.model,
    engine,
    worker: worker !== 'page',
    // In memory only: what a person's own chats have stored is neither found nor cleared.
    prefixCache: cache === 'on' ? { storedBytes: 0 } : false,
    ...(speculation === 'prompt-lookup' && { speculation }),
    ...(threads !== undefined && { threads: Number(threads) }),
    ...(context !== undefined && { contextTokens: Number(context) }),
    ...(runAhead !== undefined && { runAhead: Number(runAhead) }),
    onProgress: hooks.onProgress,
    signal: hooks.signal,
  };
}

/** A library of somebody else; its code is fetched when it is raced. */
const library = (
  id: string,
  device: 'gpu' | 'cpu',
  [name, words]: readonly [string, string],
  load: () => Promise<{ loadRacer: LoadRacer }>,
): Kind => ({
  id,
  name,
  words,
  settings: device === 'cpu' ? ['model', 'threads'] : ['model'],
  load: async ({ model, threads }, hooks) => {
    const [{ loadRacer }, { racerEngine }] = await Promise.all([load(), import('./adapters/racer-engine.ts')]);
    const racer = await loadRacer({
      ...hooks,
      model: model ?? hooks.model,
      device,
      ...(threads !== undefined && { threads: Number(threads) }),
    });
    return racerEngine(racer);
  },
});

const wllama = () => import('./adapters/wllama.ts');
const transformers = () => import('./adapters/transformers.ts');

/** All that can be raced. */
export const KINDS: readonly Kind[] = [
  ...FILE_ENGINE_NAMES.map(ours),
  library('wllama-gpu', 'gpu', ['wllama on GPU', 'llama.cpp in WebAssembly, its WebGPU backend'], wllama),
  library('wllama-cpu', 'cpu', ['wllama on CPU', 'llama.cpp in WebAssembly'], wllama),
  library(
    'transformers-gpu',
    'gpu',
    ['transformers.js on GPU', 'Hugging Face’s library, on the graphics chip'],
    transformers,
  ),
  library(
    'transformers-cpu',
    'cpu',
    ['transformers.js on CPU', 'Hugging Face’s library, on the processor'],
    transformers,
  ),
  ours('web-llm'),
  {
    id: 'endpoint',
    name: 'A server',
    words: 'Any OpenAI-compatible API; what you ask leaves this device',
    settings: ['url', 'model'],
    load: async ({ url = '', model }, { model: shared, keys, signal }) => {
      const apiKey = keys.of(url);
      return createEndpointEngine({
        baseURL: url,
        model: model ?? shared,
        ...(apiKey !== undefined && { apiKey }),
        signal,
      });
    },
  },
];

/** A contender as it is set up. */
export interface Spec {
  kind: Kind;
  settings: Settings;
}

/** `webgpu;cache=on`: how an address names a contender. */
export function writeSpec({ kind, settings }: Spec): string {
  return [kind.id, ...Object.entries(settings).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)].join(
    ';',
  );
}

/** @throws RangeError in words for what names no contender, or has a setting that it does not have */
export function readSpec(text: string): Spec {
  const [id, ...parts] = text.split(';');
  const kind = KINDS.find((candidate) => candidate.id === id);
  if (!kind) throw new RangeError(`Cannot race "${id}": take one of ${KINDS.map((known) => known.id).join(', ')}`);
  const settings: Settings = {};
  for (const part of parts) {
    const at = part.indexOf('=');
    const name = part.slice(0, at) as SettingName;
    if (at < 1 || !kind.settings.includes(name))
      throw new RangeError(`Cannot race ${id}: it has no setting "${part}"; it has ${kind.settings.join(', ')}`);
    settings[name] = decodeURIComponent(part.slice(at + 1));
  }
  return { kind, settings };
}

/** What a run is called: the engine, then what is set of it. No two are called alike. */
export function runNames(specs: readonly Spec[]): string[] {
  const texts = specs.map(writeSpec);
  return specs.map(({ kind, settings }, index) => {
    const said = Object.entries(settings).map(([name, value]) => `${name} ${shortName(value)}`);
    const earlier = texts.slice(0, index).filter((text) => text === texts[index]).length;
    const parts = earlier ? [...said, `#${earlier + 1}`] : said;
    return parts.length ? `${kind.id} (${parts.join(', ')})` : kind.id;
  });
}

/** The end of a URL or of the name of a model, which tells them apart. */
const shortName = (text: string): string =>
  text
    .replace(/^https?:\/\//, '')
    .split('/')
    .filter(Boolean)
    .at(-1) ?? text;
