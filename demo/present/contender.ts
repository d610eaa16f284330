import {
  createEngine,
  type Engine,
  type EngineName,
  type GenerateRequest,
  type LoadProgress,
} from '../../src/index.ts';

/** One way to answer, to be held against another: an engine now; a cache on or off, INT4 or INT8 would be others. */
export interface Contender {
  id: string;
  /** For the screen: short. */
  name: string;
  /** What it is, in words for everybody. */
  words: string;
  load: (onProgress: (progress: LoadProgress) => void, signal: AbortSignal) => Promise<Engine>;
  /** Added to what is asked. */
  request?: Partial<GenerateRequest>;
}

const engine = (id: Exclude<EngineName, 'auto'>, name: string, words: string, model: string): Contender => ({
  id,
  name,
  words,
  load: async (onProgress, signal) => createEngine({ model, engine: id, onProgress, signal }),
});

/** Who can be chosen for either side. */
export const contenders = (model: string): readonly Contender[] => [
  engine('webgpu', 'WebGPU', 'Our own runtime, on the graphics chip', model),
  engine('onnx-webgpu', 'ONNX on GPU', 'onnxruntime-web, on the graphics chip', model),
  engine('onnx-wasm', 'ONNX on CPU', 'onnxruntime-web, on the processor', model),
];
