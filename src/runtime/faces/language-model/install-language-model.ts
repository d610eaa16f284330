import type { Engine } from '../../request/engine.ts';
import {
  DEFAULT_TEMPERATURE,
  DEFAULT_TOP_K,
  LanguageModelSession,
  type LanguageModelCreateOptions,
} from './language-model.ts';
import { notSupported, readPrompt } from './prompt-input.ts';

/** What `LanguageModel.params` tells. */
export interface LanguageModelParams {
  defaultTopK: number;
  maxTopK: number;
  defaultTemperature: number;
  maxTemperature: number;
}

/** The static side of the browser's `LanguageModel`. */
export interface LanguageModelFactory {
  availability(options?: LanguageModelCreateOptions): Promise<'available' | 'unavailable'>;
  /** @throws DOMException `NotSupportedError` for images, audio and tools; RangeError for a temperature or topK out of range */
  create(options?: LanguageModelCreateOptions): Promise<LanguageModelSession>;
  params(): Promise<LanguageModelParams>;
}

const MAX_TOP_K = 128;
const MAX_TEMPERATURE = 2;

/** The browser's Prompt API over an engine, without touching the page. @see installLanguageModel */
export function createLanguageModel(engine: Engine): LanguageModelFactory {
  return {
    availability: (options = {}) => Promise.resolve(refusal(options) ? 'unavailable' : 'available'),
    async create(options = {}) {
      const { initialPrompts = [], signal, monitor } = options;
      signal?.throwIfAborted();
      const refused = refusal(options);
      if (refused !== undefined) throw notSupported(refused);
      checkSampling(options);
      const initial = readPrompt(initialPrompts, true);
      monitor?.(progressOfLoaded());
      return new LanguageModelSession(engine, initial, options, []).measure();
    },
    params: () =>
      Promise.resolve({
        defaultTopK: DEFAULT_TOP_K,
        maxTopK: MAX_TOP_K,
        defaultTemperature: DEFAULT_TEMPERATURE,
        maxTemperature: MAX_TEMPERATURE,
      }),
  };
}

/** Where `installLanguageModel` puts it. */
export interface InstallOptions {
  /** Also where the browser has its own. @default false */
  replace?: boolean;
  /** @default the global object */
  target?: { LanguageModel?: unknown };
}

/**
 * Puts the browser's Prompt API on the page, answered by an engine, so that a page written for the built-in model runs where there is
 * none. Does nothing where there is one, unless asked to replace it.
 *
 * @returns a function that puts back what was there
 * @example
 * ```ts
 * if (!('LanguageModel' in self)) installLanguageModel(await createEngine({ model: 'tutor' }));
 * ```
 */
export function installLanguageModel(
  engine: Engine,
  { replace = false, target = globalThis as InstallOptions['target'] & {} }: InstallOptions = {},
): () => void {
  const place = target as Record<string, unknown>;
  const before = Object.getOwnPropertyDescriptor(place, 'LanguageModel');
  if (before && !replace) return () => undefined;
  const value = createLanguageModel(engine);
  Object.defineProperty(place, 'LanguageModel', { value, configurable: true, writable: true });
  return () => {
    if (place['LanguageModel'] !== value) return; // somebody else's by now
    if (before) Object.defineProperty(place, 'LanguageModel', before);
    else delete place['LanguageModel'];
  };
}

function refusal({
  expectedInputs = [],
  expectedOutputs = [],
  tools = [],
}: LanguageModelCreateOptions): string | undefined {
  if (tools.length > 0) return 'tools are not called here';
  const other = [...expectedInputs, ...expectedOutputs].find(({ type }) => type !== 'text');
  return other && `content of the type ${other.type} is not understood`;
}

function checkSampling({ temperature = DEFAULT_TEMPERATURE, topK = DEFAULT_TOP_K }: LanguageModelCreateOptions): void {
  if (!(temperature >= 0 && temperature <= MAX_TEMPERATURE))
    throw new RangeError(`Cannot create: temperature is ${temperature}; give a number from 0 to ${MAX_TEMPERATURE}`);
  if (!(Number.isInteger(topK) && topK >= 1 && topK <= MAX_TOP_K))
    throw new RangeError(`Cannot create: topK is ${topK}; give a whole number from 1 to ${MAX_TOP_K}`);
}

/** The events that a page waits for to hide its progress bar. */
function progressOfLoaded(): EventTarget {
  const monitor = new EventTarget();
  queueMicrotask(() => {
    for (const loaded of [0, 1])
      monitor.dispatchEvent(new ProgressEvent('downloadprogress', { lengthComputable: true, loaded, total: 1 }));
  });
  return monitor;
}
