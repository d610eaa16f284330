import { FILE_TYPES } from '../../../src/runtime/models/gguf/file-types.ts';
import { LoggerWithoutDebug, Wllama } from '@wllama/wllama';
import wasmUrl from '@wllama/wllama/esm/wasm/wllama.wasm?url';
import { TokenglassError } from '../../../src/index.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { resolveModel } from '../../../src/runtime/models/catalog.ts';
import { readBytes } from '../../../src/runtime/models/read-file.ts';
import { requireGpu } from './require-gpu.ts';
import type { LoadRacer, RacerEnd, RacerOptions, RacerTask } from './racer.ts';

const VERSION = '3.13.0';

/** llama.cpp in WebAssembly (`@wllama/wllama`), on GGUF files; with `gpu`, all layers on its WebGPU backend. */
export const loadRacer: LoadRacer = async (options) => {
  const adapter = options.device === 'gpu' ? await requireGpu() : undefined;
  const gguf = await readGguf(options);
  const wllama = new Wllama({ default: wasmUrl }, { logger: LoggerWithoutDebug, suppressNativeLog: true });
  wllama.setCompat(null); // its builds for older browsers come from a CDN
  options.signal.throwIfAborted();
  options.onProgress({ phase: 'compile', loadedBytes: gguf.size, totalBytes: gguf.size, label: 'Starting llama.cpp' });
  const { threads } = options;
  try {
    await wllama.loadModel([gguf], {
      n_gpu_layers: adapter ? 999 : 0,
      ...(threads !== undefined && { n_threads: threads }),
      n_parallel: 1,
      warmup: false, // the race has its own, and marks it
    });
  } catch (cause) {
    await wllama.exit().catch(() => undefined);
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new TokenglassError('internal', `Cannot load the model in wllama: ${message}; choose another contender`, {
      cause,
    });
  }
  const { metadata } = wllama.getLoadedContextInfo();
  return {
    facts: {
      name: 'wllama',
      version: `${VERSION} (llama.cpp ${Wllama.getLibllamaVersion()})`,
      model: options.model,
      precision: FILE_TYPES[Number(metadata['general.file_type'])] ?? 'unknown',
      modelBytes: gguf.size,
      ...(adapter ? { adapter } : { threads: wllama.getNumThreads() }),
      reason: `Runs on ${adapter ? 'the GPU' : 'the CPU'} in llama.cpp (wllama).`,
    },
    generate: (task) => generate(wllama, task),
    dispose: () => wllama.exit(),
  };
};

async function readGguf({ model, signal, onProgress }: RacerOptions): Promise<Blob> {
  const { source, gguf } = resolveModel(model);
  if (gguf === undefined)
    throw new TokenglassError(
      'model-unsupported',
      'Cannot load the model in wllama: it is no GGUF file; give the URL of one',
    );
  const onBytes = (loadedBytes: number, totalBytes?: number): void =>
    onProgress({
      phase: 'download',
      loadedBytes,
      ...(totalBytes !== undefined && { totalBytes }),
      label: 'Downloading weights',
    });
  return new Blob([await readBytes(source, gguf, { signal, onBytes })]);
}

async function generate(wllama: Wllama, { messages, maxTokens, signal, onDelta }: RacerTask): Promise<RacerEnd> {
  let known = 0;
  const end: RacerEnd = { finishReason: 'stop' };
  await wllama.createChatCompletion({
    messages: messages.map(({ role, content }) => ({ role: role as 'user', content })),
    max_tokens: maxTokens,
    temperature: 0,
    cache_prompt: false,
    timings_per_token: true, // its own count of tokens, with each chunk
    abortSignal: signal,
    stream: true,
    onData: ({ choices, timings }) => {
      const atMs = systemClock.now();
      const text = choices[0]?.delta.content ?? '';
      const count = timings ? Math.max(0, timings.predicted_n - known) : Number(text !== '');
      known += count;
      if (text !== '' || count > 0) onDelta({ text, count, atMs });
      if (choices[0]?.finish_reason === 'length') end.finishReason = 'length';
      if (!timings) return;
      end.promptTokens = timings.prompt_n + timings.cache_n;
      end.cachedTokens = timings.cache_n;
      end.prefillMs = timings.prompt_ms;
    },
  });
  return end;
}
