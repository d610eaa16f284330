/** What a page can set of an engine besides its model, by the names of the options of `createEngine`. */
export type EngineSetting =
  | 'prefixCache'
  | 'threads'
  | 'runAhead'
  | 'prefillPrecision'
  | 'speculation'
  | 'contextTokens'
  | 'cacheBackend'
  | 'worker';

/** What there is to know of an engine before it is loaded. */
export interface EngineRow {
  /** On buttons and in tables. */
  label: string;
  /** What it is, for people. */
  about: string;
  /** What computes. */
  device: 'gpu' | 'cpu';
  /** Where it computes, as a sentence says it after "Runs". */
  place: string;
  /** Which files of a model it reads; `mlc`: models of the library's own catalog. */
  format: 'gguf' | 'onnx' | 'mlc';
  settings: readonly EngineSetting[];
}

/**
 * Every engine that loads a model in the page. The choice of `auto`, the command line, forms, the race and the documentation read this
 * table; a new engine is a row here, its folder, and a loader in `runtime/load/loaders.ts`.
 */
export const ENGINES = {
  webgpu: {
    label: 'WebGPU',
    about: 'Our own runtime, on WebGPU',
    device: 'gpu',
    place: 'on WebGPU',
    format: 'gguf',
    settings: ['prefixCache', 'runAhead', 'prefillPrecision', 'speculation', 'contextTokens', 'worker'],
  },
  wasm: {
    label: 'CPU',
    about: 'Our own runtime, on the CPU',
    device: 'cpu',
    place: 'on the CPU (WebAssembly)',
    format: 'gguf',
    settings: ['prefixCache', 'threads', 'speculation', 'contextTokens', 'worker'],
  },
  'onnx-webgpu': {
    label: 'ONNX on WebGPU',
    about: 'onnxruntime-web, on WebGPU',
    device: 'gpu',
    place: 'on WebGPU (onnxruntime-web)',
    format: 'onnx',
    settings: ['prefixCache', 'speculation', 'contextTokens', 'worker'],
  },
  'onnx-wasm': {
    label: 'ONNX on the CPU',
    about: 'onnxruntime-web, on the CPU',
    device: 'cpu',
    place: 'on the CPU (onnxruntime-web)',
    format: 'onnx',
    settings: ['prefixCache', 'threads', 'speculation', 'contextTokens', 'worker'],
  },
  'web-llm': {
    label: 'WebLLM',
    about: 'MLC’s library; needs a model of its own catalog, from the network',
    device: 'gpu',
    place: 'on WebGPU (web-llm)',
    format: 'mlc',
    settings: ['contextTokens', 'cacheBackend', 'worker'],
  },
} as const satisfies Record<string, EngineRow>;

/** Names of the engines that can run. */
export type LoadableEngineName = keyof typeof ENGINES;

/** Names of the engines a page can ask for; `auto` takes the best that runs well here. */
export type EngineName = 'auto' | LoadableEngineName;

/** Names of all engines, in the order in which people are shown them. */
export const ENGINE_NAMES = Object.keys(ENGINES) as LoadableEngineName[];

/** Names of the engines that read files of a model, rather than bring a catalog of their own. */
export const FILE_ENGINE_NAMES = ENGINE_NAMES.filter((name) => ENGINES[name].format !== 'mlc');

/** Whether the engine `name` reads an option of `createEngine`. */
export const hasSetting = (name: LoadableEngineName, setting: EngineSetting): boolean =>
  (ENGINES[name].settings as readonly EngineSetting[]).includes(setting);

/** Names of the engines that read an option of `createEngine`. */
export const enginesWith = (setting: EngineSetting): LoadableEngineName[] =>
  ENGINE_NAMES.filter((name) => hasSetting(name, setting));
