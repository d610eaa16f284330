import { byteTokenizer, BOS_ID, BYTE_VOCAB_SIZE, END_ID } from '../../../engine/testing/byte-tokenizer.ts';
import type { MlcMessage } from '../conversation.ts';
import type { MlcChatConfig, MlcLogitProcessor, MlcPipeline } from '../pipeline.ts';
import { mlcError } from './fake-mlc-errors.ts';

/** Parameters of an answer, by the library's names. */
export interface GenConfig {
  max_tokens?: number;
  stop?: string[];
  temperature?: number;
  ignore_eos?: boolean;
  seed?: number;
  extra_body?: { enable_thinking?: boolean };
}

export interface FakePipelineOptions {
  contextTokens?: number;
  /** Ids that every answer has, whatever the prompt; then end tokens. @default from a hash of all tokens */
  script?: readonly number[];
  /** Awaited by each step, with its number: where a test holds the library, or makes it fail. */
  onStep?: (step: number) => Promise<void> | undefined;
  /** More of the chat config. */
  config?: Partial<MlcChatConfig>;
}

export const FAKE_TEMPLATE: MlcChatConfig['conv_template'] = {
  system_template: '<system>{system_message}<end>',
  system_message: '',
  system_prefix_token_ids: [BOS_ID],
  render_empty_system_message: false,
  roles: { user: '<user>', assistant: '<assistant>', tool: '<tool>' },
  role_templates: { user: '{user_message}', assistant: '{assistant_message}', tool: '{tool_message}' },
  seps: ['<end>'],
  role_content_sep: '',
  role_empty_sep: '',
};

const utf8 = new TextDecoder();

/**
 * The library's `LLMChatPipeline` without a GPU: its KV, its reuse of turns, its counts, its way with stop strings and end tokens, and a model
 * whose logits are a function of all tokens before.
 */
export class FakeMlcPipeline implements MlcPipeline {
  readonly config: MlcChatConfig;
  readonly contextWindowSize: number;
  readonly tokenizer = {
    encode: (text: string): Int32Array => Int32Array.from(byteTokenizer.encode(text, true)),
    idToToken: (id: number): string => (id < 0x80 ? String.fromCharCode(id).replace(' ', '\u0120') : `<|${id}|>`),
    getVocabSize: (): number => BYTE_VOCAB_SIZE,
  };
  readonly tvm: {
    lib: { webGPUContext: { device: GPUDevice } };
    cacheMetadata: { ParamBytes: number; BitsPerParam: number };
  };
  logitProcessor: MlcLogitProcessor | undefined;
  /** Times that logits were read back to the CPU. */
  readbacks = 0;
  disposed = false;
  readonly #options: FakePipelineOptions;
  #kv: number[] = [];
  #turns: string[] = [];
  #outputIds: number[] = [];
  #message = '';
  #stopped = true;
  #finish: string | undefined;
  #random = 1;
  #steps = 0;
  #sampled = 0;
  #decoded = 0;
  #computed = 0;
  #isText = false;

  constructor(options: FakePipelineOptions, device: GPUDevice) {
    this.#options = options;
    this.contextWindowSize = options.contextTokens ?? 512;
    this.config = {
      model_type: 'llama',
      quantization: 'q4f16_1',
      vocab_size: BYTE_VOCAB_SIZE,
      temperature: 0.7,
      tokenizer_info: { token_postproc_method: 'byte_level' },
      conv_template: FAKE_TEMPLATE,
      model_config: { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2 },
      ...options.config,
    };
    this.tvm = { lib: { webGPUContext: { device } }, cacheMetadata: { ParamBytes: 45_000, BitsPerParam: 4.5 } };
  }

  get filledKVCacheLength(): number {
    return this.#kv.length;
  }

  getMessage = (): string => this.#message;
  stopped = (): boolean => this.#stopped;
  getFinishReason = (): string | undefined => this.#finish;
  getCurRoundPrefillTotalTokens = (): number => this.#computed;
  getCurRoundPrefillTotalTime = (): number => 0.004;
  getCurRoundDecodingTotalTime = (): number => 0.002 * this.#decoded;
  getCurRoundDecodingTotalTokens = (): number => this.#decoded;
  /** From 0.2.86 on. */
  getCurRoundCompletionTotalTokens = (): number => this.#sampled;

  setSeed(seed: number): void {
    this.#random = seed % 2147483647 || 1;
  }

  resetChat(): void {
    this.#kv = [];
    this.#turns = [];
    this.#finish = undefined;
  }

  /** @param forgetsBroken 0.2.86 starts anew after an answer that was cut short; before, it goes on from KV that lacks a token */
  async prefill(
    input: { messages: MlcMessage[] } | { prompt: string },
    config: GenConfig,
    forgetsBroken: boolean,
  ): Promise<void> {
    this.#outputIds = [];
    this.#message = '';
    this.#stopped = false;
    [this.#computed, this.#decoded, this.#sampled] = [0, 0, 0];
    const pieces = this.#piecesOf(input, config, forgetsBroken);
    const ids = pieces.flatMap((piece) => [...this.tokenizer.encode(piece)]);
    if (ids.length + this.#kv.length > this.contextWindowSize)
      throw mlcError(
        'ContextWindowSizeExceededError',
        `Prompt tokens exceed context window size: number of prompt tokens: ${ids.length}; context window size: ${this.contextWindowSize}\nConsider shortening the prompt`,
      );
    // The prefix of the system turn is computed, and not counted.
    const prefix = this.#kv.length === 0 && !this.#isText ? [BOS_ID] : [];
    await this.#forward([...prefix, ...ids]);
    this.#computed = ids.length;
    this.#commit(this.#sample(config), config);
  }

  async decode(config: GenConfig): Promise<void> {
    await this.#forward([this.#outputIds.at(-1)!]);
    const id = this.#sample(config);
    this.#decoded += 1;
    this.#commit(id, config);
  }

  triggerStop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#finish = 'abort';
    this.#turns.push(this.#message);
  }

  /** As in the library: stop strings are looked for in the whole message, from its end; `ignore_eos` turns them off with the end tokens. */
  processNextToken(id: number, config: GenConfig): void {
    const { max_tokens: maxTokens = Infinity, ignore_eos: ignoresEos = false, stop = [] } = config;
    if (!ignoresEos && id === END_ID) {
      this.#stopped = true;
      this.#finish = 'stop';
    } else this.#outputIds.push(id);
    let message = utf8.decode(Uint8Array.from(this.#outputIds.filter((output) => output < 256)));
    for (const text of ignoresEos ? [] : stop) {
      const at = message.lastIndexOf(text);
      if (at < 0) continue;
      message = message.slice(0, at);
      this.#stopped = true;
      this.#finish = 'stop';
      break;
    }
    this.#message = message;
    if (this.#outputIds.length >= maxTokens || this.#kv.length === this.contextWindowSize) {
      this.#stopped = true;
      this.#finish = 'length';
    }
    if (this.#stopped) this.#turns.push(this.#message);
  }

  dispose(): void {
    this.disposed = true;
  }

  #commit(id: number, config: GenConfig): void {
    this.logitProcessor?.processSampledToken(id);
    this.processNextToken(id, config);
    this.#sampled += 1;
  }

  #piecesOf(
    input: { messages: MlcMessage[] } | { prompt: string },
    config: GenConfig,
    forgetsBroken: boolean,
  ): string[] {
    this.#isText = 'prompt' in input;
    if ('prompt' in input) {
      this.resetChat();
      return [input.prompt];
    }
    const { system_template: system, roles, seps, role_templates: templates } = this.config.conv_template;
    const turns = input.messages.map(({ content }) => content);
    const isCutShort = forgetsBroken && (this.#finish === 'abort' || this.#finish === 'length');
    const goesOn = !isCutShort && turns.length > 1 && same(this.#turns, turns.slice(0, -1));
    if (!goesOn) this.resetChat();
    // `replace` with a string reads `$$` and the like: a fault of the library's.
    const texts = input.messages.map(({ role, content }) =>
      role === 'system'
        ? system.replace('{system_message}', content)
        : `${roles[role]}${templates![role]!.replace(`{${role}_message}`, content)}${seps[0]}`,
    );
    this.#turns = turns;
    const thought = '<think>\n\n</think>\n\n';
    const noThinking = config.extra_body?.enable_thinking === false;
    if (noThinking) this.#outputIds.push(...this.tokenizer.encode(thought));
    return [...(goesOn ? texts.slice(-1) : texts), `<assistant>${noThinking ? thought : ''}`];
  }

  async #forward(ids: readonly number[]): Promise<void> {
    const step = this.#steps++;
    await this.#options.onStep?.(step);
    await nextTask();
    this.#kv.push(...ids);
  }

  #sample({ temperature = this.config.temperature ?? 1 }: GenConfig): number {
    let logits = this.#logits();
    if (this.logitProcessor) {
      this.readbacks += 1;
      logits = this.logitProcessor.processLogits(logits);
    }
    this.#random = (48271 * this.#random) % 2147483647;
    const scale = 1 / Math.max(1e-6, temperature);
    const max = Math.max(...logits);
    const weights = Array.from(logits, (logit) => Math.exp((logit - max) * scale));
    let left = (this.#random / 2147483647) * weights.reduce((sum, weight) => sum + weight, 0);
    const found = weights.findIndex((weight) => (left -= weight) <= 0);
    return found < 0 ? weights.length - 1 : found;
  }

  #logits(): Float32Array {
    const { script } = this.#options;
    const logits = new Float32Array(BYTE_VOCAB_SIZE).fill(-1000);
    if (script) {
      logits[script[this.#sampled] ?? END_ID] = 0;
      return logits;
    }
    let hash = 0x811c9dc5;
    for (const id of this.#kv) hash = mix(hash, id);
    for (let id = 0x20; id < 0x7f; id++) logits[id] = (mix(hash, id) >>> 8) / 2 ** 21;
    logits[END_ID] = (mix(hash, END_ID) >>> 8) / 2 ** 21;
    return logits;
  }
}

function mix(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x01000193);
  return (product ^ (product >>> 15)) >>> 0;
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index]);

/** A step of a GPU ends in a task of its own. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
