import { TokenglassError, type AdapterInfo } from '../../../src/index.ts';
import { abortError } from '../../../src/shared/errors.ts';
import { requireGpu } from './require-gpu.ts';
import type { LoadRacer, RacerDelta, RacerEnd, RacerTask } from './racer.ts';

/** What the page tells the worker. */
export type ToTransformers =
  | { type: 'load'; model: string; device: 'webgpu' | 'wasm'; threads: number | undefined }
  | { type: 'generate'; messages: RacerTask['messages']; maxTokens: number }
  | { type: 'stop' };

export interface TransformersLoaded {
  version: string;
  precision: string;
  modelBytes: number;
  threads: number;
}

/** What the worker tells the page. */
export type FromTransformers =
  | { type: 'progress'; loadedBytes: number; file: string }
  | ({ type: 'loaded' } & TransformersLoaded)
  | ({ type: 'delta' } & RacerDelta)
  | ({ type: 'end' } & RacerEnd)
  | { type: 'failed'; message: string };

/** `@huggingface/transformers`, on ONNX models; in a worker of its own, so that it keeps no page waiting and all its memory can be had back. */
export const loadRacer: LoadRacer = async ({ model, device, threads, signal, onProgress }) => {
  const adapter = device === 'gpu' ? await requireGpu() : undefined;
  signal.throwIfAborted();
  const worker = new Worker(new URL('./transformers.worker.ts', import.meta.url), { type: 'module' });
  try {
    const loaded = await ask(worker, signal, 'loaded', {
      start: { type: 'load', model, device: adapter ? 'webgpu' : 'wasm', threads },
      hear: (message) => {
        if (message.type === 'progress')
          onProgress({ phase: 'download', loadedBytes: message.loadedBytes, label: `Downloading ${message.file}` });
      },
    });
    return {
      facts: {
        name: 'transformers.js',
        model,
        ...describe(loaded, adapter),
        reason: `Runs on ${adapter ? 'the GPU' : 'the CPU'} in onnxruntime-web, driven by transformers.js.`,
      },
      generate: ({ messages, maxTokens, signal: stopped, onDelta }) =>
        ask(worker, stopped, 'end', {
          start: { type: 'generate', messages, maxTokens },
          hear: (message) => {
            if (message.type === 'delta') onDelta(message);
          },
        }),
      dispose: () => {
        worker.terminate();
        return Promise.resolve();
      },
    };
  } catch (error) {
    worker.terminate();
    throw error;
  }
};

const describe = ({ version, precision, modelBytes, threads }: TransformersLoaded, adapter?: AdapterInfo) => ({
  version,
  precision,
  modelBytes,
  ...(adapter ? { adapter } : { threads }),
});

type Answer<Type extends FromTransformers['type']> = Extract<FromTransformers, { type: Type }>;

/** Sends one message and waits for one that ends it. */
function ask<Type extends 'loaded' | 'end'>(
  worker: Worker,
  signal: AbortSignal,
  until: Type,
  { start, hear }: { start: ToTransformers; hear: (message: FromTransformers) => void },
): Promise<Answer<Type>> {
  const done = new AbortController();
  const answer = new Promise<Answer<Type>>((resolve, reject) => {
    const fail = (message: string): void => {
      reject(
        new TokenglassError('internal', `Cannot go on: transformers.js says "${message}"; choose another contender`),
      );
    };
    const listening = { signal: done.signal };
    worker.addEventListener(
      'message',
      ({ data }: MessageEvent<FromTransformers>) => {
        if (data.type === until) resolve(data as Answer<Type>);
        else if (data.type === 'failed') fail(data.message);
        else hear(data);
      },
      listening,
    );
    worker.addEventListener('error', ({ message }) => fail(message || 'the worker could not be started'), listening);
    const stop = (): void => {
      worker.postMessage({ type: 'stop' } satisfies ToTransformers);
      reject(abortError(signal));
    };
    signal.addEventListener('abort', stop, listening);
    worker.postMessage(start);
  });
  return answer.finally(() => done.abort());
}
