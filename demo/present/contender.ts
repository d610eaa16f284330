import {
  createEngine,
  type CreateEngineOptions,
  type Engine,
  type EngineName,
  type LoadProgress,
  type ModelSpec,
} from '../../src/index.ts';
import { ENGINES, type LoadableEngineName } from '../../src/shared/engines.ts';
import { createBuiltInSource, TUTOR_GGUF } from '../../src/runtime/models/builtin.ts';
import { CATALOG } from '../../src/runtime/models/catalog-entries.ts';
import { int8Copy } from '../../src/runtime/models/gguf/int8-copy.ts';

/** One way to answer, to be held against another: an engine, with its prefix cache on or off, in INT4 or INT8. */
export interface Contender {
  id: string;
  /** For the screen: short. */
  name: string;
  /** What it is, in words for everybody. */
  words: string;
  load: (onProgress: (progress: LoadProgress) => void, signal: AbortSignal) => Promise<Engine>;
}

/** Two contenders that differ in one thing, and what they are asked with. */
export interface Comparison {
  id: string;
  name: string;
  a: string;
  b: string;
  /** Both are given a long system prompt, and have seen it before. */
  longPrompt: boolean;
}

/** Who can be chosen for either side. */
export function contenders(model: string): readonly Contender[] {
  const of = (
    id: string,
    name: string,
    words: string,
    engine: EngineName,
    options: Pick<CreateEngineOptions, 'prefixCache'> & { model?: () => Promise<ModelSpec> } = {},
  ): Contender => ({
    id,
    name,
    words,
    load: async (onProgress, signal) => {
      const { model: modelOf, ...rest } = options;
      return createEngine({ model: (await modelOf?.()) ?? model, engine, onProgress, signal, ...rest });
    },
  });
  const whole = (engine: LoadableEngineName): Contender =>
    of(engine, ENGINES[engine].label, ENGINES[engine].about, engine);
  const int8 = int8Of(model);
  return [
    whole('webgpu'),
    of('webgpu-no-cache', 'WebGPU, no cache', 'The same, every prompt computed anew', 'webgpu', {
      prefixCache: false,
    }),
    ...(int8
      ? [of('webgpu-int8', 'WebGPU, INT8', 'The same, the model in twice the bytes', 'webgpu', { model: int8 })]
      : []),
    whole('onnx-webgpu'),
    whole('onnx-wasm'),
    of('onnx-wasm-no-cache', 'ONNX on the CPU, no cache', 'The same, every prompt computed anew', 'onnx-wasm', {
      prefixCache: false,
    }),
  ];
}

/** What presenters want to show, one thing at a time. */
export const COMPARISONS: readonly Comparison[] = [
  { id: 'engines', name: 'two engines', a: 'webgpu', b: 'onnx-wasm', longPrompt: false },
  { id: 'cache', name: 'cache on and off', a: 'webgpu', b: 'webgpu-no-cache', longPrompt: true },
  { id: 'cpu-cache', name: 'cache on and off, on the CPU', a: 'onnx-wasm', b: 'onnx-wasm-no-cache', longPrompt: true },
  { id: 'precision', name: 'INT4 and INT8', a: 'webgpu', b: 'webgpu-int8', longPrompt: false },
];

/** Where the model is to be had in INT8: the built-in one is copied, with the very same weights; a model of the Hub has a file of its own. */
function int8Of(model: string): (() => Promise<ModelSpec>) | undefined {
  if (model === 'tutor') return tutorInInt8;
  const listed = CATALOG.find(({ name }) => name === model)?.hub?.gguf.repository;
  const repository = listed ?? /^hf:([^/]+\/[^/]+)\/I?Q[4-6]_\w+$/i.exec(model)?.[1];
  return repository === undefined ? undefined : () => Promise.resolve(`hf:${repository}/Q8_0`);
}

async function tutorInInt8(): Promise<ModelSpec> {
  const { stream } = await createBuiltInSource().open(TUTOR_GGUF);
  const copy = await int8Copy(new Uint8Array(await new Response(stream).arrayBuffer()));
  return { files: [new File([copy], 'tutor.q8_0.gguf')] };
}
