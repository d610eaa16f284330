import {
  AutoModelForCausalLM,
  AutoTokenizer,
  BaseStreamer,
  env,
  InterruptableStoppingCriteria,
} from '@huggingface/transformers';
// Its own version of onnxruntime-web, not ours; from the page's server, where it would ask a CDN. As they are: threads start from the module's URL.
import cpuModuleUrl from '../../../node_modules/@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.mjs?url';
import cpuWasmUrl from '../../../node_modules/@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm?url';
import gpuModuleUrl from '../../../node_modules/@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.mjs?url';
import gpuWasmUrl from '../../../node_modules/@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.wasm?url';
import { systemClock } from '../../../src/shared/clock.ts';
import { isTokenglassError } from '../../../src/shared/errors.ts';
import { resolveModel } from '../../../src/runtime/models/catalog.ts';
import { readBytes } from '../../../src/runtime/models/read-file.ts';
import type { FromTransformers, ToTransformers } from './transformers.ts';

/** Of onnx-community repositories; the built-in model has this one. */
const PRECISION = 'q4';
/** Stands for the model where the library makes URLs of it; nothing is asked of this host. */
const HOST = 'https://model.invalid/';

const tell = (message: FromTransformers): void => self.postMessage(message);
const absolute = (url: string): string => new URL(url, self.location.href).href;

let modelBytes = 0;
const stopping = new InterruptableStoppingCriteria();
let loaded: { tokenizer: Awaited<ReturnType<typeof AutoTokenizer.from_pretrained>>; model: Model } | undefined;
type Model = Awaited<ReturnType<typeof AutoModelForCausalLM.from_pretrained>>;

/** Files come from wherever our own engines have them from, so that a name means the same model in every column. */
function fetchFrom(model: string): typeof env.fetch {
  const { source } = resolveModel(model);
  return async (url) => {
    const path = String(url)
      .slice(HOST.length)
      .replace(/^model\//, '');
    try {
      const before = modelBytes;
      const bytes = await readBytes(source, path, {
        onBytes: (loadedBytes) => tell({ type: 'progress', loadedBytes: before + loadedBytes, file: path }),
      });
      modelBytes += bytes.length;
      return new Response(bytes, { headers: { 'Content-Length': String(bytes.length) } });
    } catch (error) {
      if (isTokenglassError(error, 'model-not-found')) return new Response(null, { status: 404 });
      throw error;
    }
  };
}

async function load({ model: name, device, threads }: Extract<ToTransformers, { type: 'load' }>): Promise<void> {
  Object.assign(env, { useBrowserCache: false, useWasmCache: false, allowLocalModels: false });
  Object.assign(env, { remoteHost: HOST, remotePathTemplate: '{model}/', fetch: fetchFrom(name) });
  const { wasm } = env.backends.onnx;
  const [mjs, binary] = device === 'webgpu' ? [gpuModuleUrl, gpuWasmUrl] : [cpuModuleUrl, cpuWasmUrl];
  Object.assign(wasm!, { wasmPaths: { mjs: absolute(mjs), wasm: absolute(binary) } });
  if (threads !== undefined) wasm!.numThreads = threads;
  const tokenizer = await AutoTokenizer.from_pretrained('model');
  const model = await AutoModelForCausalLM.from_pretrained('model', { device, dtype: PRECISION });
  loaded = { tokenizer, model };
  const version = `${env.version} (onnxruntime-web ${env.backends.onnx.versions?.web ?? 'unknown'})`;
  tell({ type: 'loaded', version, precision: PRECISION, modelBytes, threads: wasm!.numThreads ?? 1 });
}

/** Text as soon as a token is known: the library's own streamer holds words back until they end, which would count against it. */
class Stream extends BaseStreamer {
  readonly ids: number[] = [];
  #isPrompt = true;
  #said = '';

  override put(value: bigint[][]): void {
    const isPrompt = this.#isPrompt;
    this.#isPrompt = false;
    if (isPrompt) return;
    const atMs = systemClock.now();
    const ids = value[0]!.map(Number);
    this.ids.push(...ids);
    const text = loaded!.tokenizer.decode(this.ids, { skip_special_tokens: true });
    const isWhole = !text.endsWith('\ufffd');
    tell({ type: 'delta', text: isWhole ? text.slice(this.#said.length) : '', count: ids.length, ids, atMs });
    if (isWhole) this.#said = text;
  }

  override end(): void {
    // Everything was told token by token.
  }
}

async function generate({ messages, maxTokens }: Extract<ToTransformers, { type: 'generate' }>): Promise<void> {
  const { tokenizer, model } = loaded!;
  stopping.reset();
  const inputs = tokenizer.apply_chat_template([...messages], { add_generation_prompt: true, return_dict: true }) as {
    input_ids: { dims: number[] };
  };
  const streamer = new Stream();
  const options = { ...inputs, max_new_tokens: maxTokens, do_sample: false, streamer, stopping_criteria: stopping };
  await model.generate(options as unknown as Parameters<Model['generate']>[0]);
  const finishReason = streamer.ids.length < maxTokens ? 'stop' : 'length';
  tell({ type: 'end', finishReason, promptTokens: inputs.input_ids.dims.at(-1)!, cachedTokens: 0 });
}

self.addEventListener('message', ({ data }: MessageEvent<ToTransformers>) => {
  if (data.type === 'stop') {
    stopping.interrupt();
    return;
  }
  const work = data.type === 'load' ? load(data) : generate(data);
  work.catch((error: unknown) =>
    tell({ type: 'failed', message: error instanceof Error ? error.message : String(error) }),
  );
});
