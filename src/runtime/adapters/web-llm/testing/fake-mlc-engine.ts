import type { MlcMessage } from '../conversation.ts';
import type { MlcChunk, MlcEngine, MlcEngineConfig, MlcProgress, MlcRequest } from '../library.ts';
import { ExitStatus, mlcError, modelNotLoaded } from './fake-mlc-errors.ts';
import { FakeMlcPipeline, type FakePipelineOptions, type GenConfig } from './fake-mlc-pipeline.ts';

export interface FakeMlcOptions extends FakePipelineOptions {
  /** Which version it behaves like. @default '0.2.86' */
  version?: '0.2.79' | '0.2.86';
  /** What a load does after its first progress; rejects to fail it. It is given the signal that `unload` aborts. */
  onLoad?: (signal: AbortSignal) => Promise<void>;
  /** Progress that a load tells. */
  progress?: readonly MlcProgress[];
}

type Body = GenConfig & { stream: true; n?: number } & ({ messages: MlcMessage[] } | { prompt: string });

/** The library's `MLCEngine` over {@link FakeMlcPipeline}: its lock, its interrupt, its chunks, its loads and its ends, as its source has them. */
export class FakeMlcEngine implements MlcEngine {
  readonly chat = { completions: { create: (request: MlcRequest) => this.#create(request as unknown as Body) } };
  readonly completions = { create: (request: MlcRequest) => this.#create(request as unknown as Body) };
  /** Private in the library's types. */
  readonly loadedModelIdToPipeline = new Map<string, FakeMlcPipeline>();
  /** Every request, in order. */
  readonly requests: Body[] = [];
  interrupts = 0;
  unloads = 0;
  readonly #options: FakeMlcOptions;
  readonly #config: MlcEngineConfig;
  readonly #locks = new Map<string, FakeLock>();
  #isInterrupted = false;
  #reloading: AbortController | undefined;
  #device = fakeDevice();

  constructor(options: FakeMlcOptions = {}, config: MlcEngineConfig = {}) {
    this.#options = options;
    this.#config = config;
  }

  get isOld(): boolean {
    return this.#options.version === '0.2.79';
  }

  /** Resolves even where it was aborted, as the library's does for an `AbortError`. */
  async reload(modelId: string): Promise<void> {
    await this.unload();
    this.unloads -= 1; // its own
    const reloading = new AbortController();
    this.#reloading = reloading;
    try {
      for (const report of this.#options.progress ?? []) this.#config.initProgressCallback?.(report);
      await this.#options.onLoad?.(reloading.signal);
      this.#device = fakeDevice();
      this.loadedModelIdToPipeline.set(modelId, new FakeMlcPipeline(this.#options, this.#device.device));
      this.#locks.set(modelId, new FakeLock());
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'AbortError')) throw error;
    } finally {
      this.#reloading = undefined;
    }
  }

  async unload(): Promise<void> {
    await Promise.resolve();
    this.unloads += 1;
    for (const pipeline of this.loadedModelIdToPipeline.values()) pipeline.dispose();
    this.loadedModelIdToPipeline.clear();
    this.#locks.clear();
    this.#reloading?.abort('Engine.unload() is called.'); // a reason that is no error
  }

  /** The device is lost: the library unloads, and the step that runs ends the WASM program. */
  loseDevice(): void {
    void this.unload();
    this.#device.lose();
  }

  interruptGenerate(): Promise<void> {
    this.interrupts += 1;
    this.#isInterrupted = true;
    return Promise.resolve();
  }

  async resetChat(): Promise<void> {
    await Promise.resolve();
    for (const pipeline of this.loadedModelIdToPipeline.values()) pipeline.resetChat();
  }

  async #create(request: Body): Promise<AsyncIterable<MlcChunk>> {
    await Promise.resolve();
    this.requests.push(request);
    const [modelId, pipeline] = [...this.loadedModelIdToPipeline][0] ?? [];
    if (modelId === undefined || !pipeline) throw modelNotLoaded();
    if ((request.n ?? 1) > 1) throw mlcError('StreamingCountError', 'When streaming, `n` cannot be > 1.');
    this.#checkMessages(request);
    const lock = this.#locks.get(modelId)!;
    // 0.2.79 takes the lock here, and whoever drops the stream keeps it.
    if (this.isOld) await lock.acquire();
    return this.#stream(request, pipeline, lock);
  }

  #checkMessages(request: Body): void {
    if (!('messages' in request)) return;
    const last = request.messages.at(-1)?.role;
    if (last !== 'user' && last !== 'tool')
      throw mlcError('MessageOrderError', 'Last message should be from either `user` or `tool`.');
    if (request.messages.some(({ role }, index) => role === 'system' && index > 0))
      throw mlcError('SystemMessageOrderError', 'System prompt should always be the first message in `messages`.');
  }

  async *#stream(request: Body, pipeline: FakeMlcPipeline, lock: FakeLock): AsyncGenerator<MlcChunk, void, undefined> {
    if (!this.isOld) await lock.acquire();
    const state = { sent: 0, isDone: false };
    try {
      if (request.seed !== undefined) pipeline.setSeed(request.seed);
      this.#isInterrupted = false; // an interrupt that came before is forgotten
      await this.#orLost(pipeline.prefill(request, request, !this.isOld));
      yield* chunkOf(request, pipeline, state);
      while (!pipeline.stopped()) {
        if (this.#wasInterrupted()) {
          pipeline.triggerStop();
          break;
        }
        await this.#orLost(pipeline.decode(request));
        yield* chunkOf(request, pipeline, state);
      }
      const finish = pipeline.getFinishReason()!;
      yield { choices: [{ ...('messages' in request ? { delta: {} } : { text: '' }), finish_reason: finish }] };
      yield { choices: [], usage: this.#usageOf(pipeline) };
      state.isDone = true;
    } catch (error) {
      state.isDone = true;
      throw error;
    } finally {
      // 0.2.79 releases at its end and at errors, and has no `finally`.
      if (state.isDone || !this.isOld) lock.release();
      if (!state.isDone && !pipeline.stopped()) pipeline.triggerStop();
    }
  }

  #wasInterrupted(): boolean {
    return this.#isInterrupted;
  }

  #usageOf(pipeline: FakeMlcPipeline): NonNullable<MlcChunk['usage']> {
    return {
      prompt_tokens: pipeline.getCurRoundPrefillTotalTokens(),
      completion_tokens: this.isOld
        ? pipeline.getCurRoundDecodingTotalTokens()
        : pipeline.getCurRoundCompletionTotalTokens(),
    };
  }

  async #orLost(step: Promise<void>): Promise<void> {
    await Promise.race([step, this.#device.device.lost]);
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- as the runtime does
    if (this.#device.isLost) throw new ExitStatus(1);
  }
}

/** The library holds text back while it ends in half a character, and tells what has come since. */
function* chunkOf(
  request: Body,
  pipeline: FakeMlcPipeline,
  state: { sent: number },
): Generator<MlcChunk, void, undefined> {
  const message = pipeline.getMessage();
  const torn = /\ufffd*$/.exec(message)![0].length;
  if (torn % 4 !== 0) return;
  const news = message.slice(state.sent);
  state.sent = message.length;
  yield {
    choices: [{ ...('messages' in request ? { delta: { content: news } } : { text: news }), finish_reason: null }],
  };
}

/** The library's lock: first come, first served, and no way out of the queue. */
class FakeLock {
  #isTaken = false;
  readonly #queue: (() => void)[] = [];

  acquire(): Promise<void> {
    if (this.#isTaken) return new Promise((resolve) => this.#queue.push(resolve));
    this.#isTaken = true;
    return Promise.resolve();
  }

  release(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#isTaken = false;
  }
}

function fakeDevice(): { device: GPUDevice; lose: () => void; readonly isLost: boolean } {
  let lose = (): void => undefined;
  let isLost = false;
  const lost = new Promise<void>((resolve) => (lose = resolve)).then(() => void (isLost = true));
  const device = { lost, features: new Set(['shader-f16']), adapterInfo: { vendor: 'acme', architecture: 'rocket' } };
  return {
    device: device as unknown as GPUDevice,
    lose: () => lose(),
    get isLost() {
      return isLost;
    },
  };
}
