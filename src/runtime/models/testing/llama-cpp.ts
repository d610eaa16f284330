import { Wllama } from 'llama-cpp-low-level/esm/index.js';
import type { TokenLogprob } from '../../../shared/generation.ts';

const wasm = (threads: 'single' | 'multi') =>
  new URL(`../../../../node_modules/llama-cpp-low-level/esm/${threads}-thread/wllama.wasm`, import.meta.url).href;

export interface LlamaCppOptions {
  /** Tokens of context. @default 512 */
  contextTokens?: number;
  /** @default 1: the test machine is shared, and models of tests are small */
  threads?: number;
}

/** llama.cpp (CPU, in WebAssembly) on a GGUF file: the independent reference for tokenization, logits and greedy text. */
export interface LlamaCpp extends AsyncDisposable {
  readonly info: {
    /** Build of llama.cpp. */
    version: string;
    vocabSize: number;
    contextTokens: number;
    layers: number;
    hiddenSize: number;
    bosId: number;
    eosId: number;
    /** Ids that end generation. */
    endIds: readonly number[];
    addBos: boolean;
    addEos: boolean;
    metadata: Readonly<Record<string, string>>;
  };
  /** Ids of the text without BOS or EOS. `special`: control tokens written out become their ids. @default true */
  tokenize(text: string, special?: boolean): Promise<number[]>;
  /** Bytes of each token, in id order; empty for control tokens. */
  vocabulary(): Promise<Uint8Array[]>;
  detokenize(tokens: readonly number[]): Promise<Uint8Array>;
  /** Jinja template of the file on messages, by llama.cpp's own renderer. */
  formatChat(messages: readonly { role: 'system' | 'user' | 'assistant'; content: string }[]): Promise<string>;
  /**
   * Teacher-forced: for each position, the most likely next tokens given all tokens up to it, best first, with natural
   * log-probabilities. `top` of at least the vocabulary size gives all of them.
   */
  logprobs(tokens: readonly number[], top?: number): Promise<TokenLogprob[][]>;
  /** Most likely continuation, `count` tokens (end tokens do not end it). */
  greedy(prompt: readonly number[], count: number): Promise<number[]>;
  /** Frees everything; `await using` does, too. */
  dispose(): Promise<void>;
}

/**
 * Loads a GGUF file into llama.cpp. KV is kept in f32 and flash attention is off, so that what is left of its error is the rounding of
 * activations to 8 bits (f16 for F16 weights) in its matrix products.
 */
export async function createLlamaCpp(gguf: Blob, options: LlamaCppOptions = {}): Promise<LlamaCpp> {
  const { contextTokens = 512, threads = 1 } = options;
  const log: string[] = [];
  const note = (...parts: unknown[]) => void log.push(parts.join(' '));
  const wllama = new Wllama(
    { 'single-thread/wllama.wasm': wasm('single'), 'multi-thread/wllama.wasm': wasm('multi') },
    { logger: { debug: note, log: note, warn: note, error: note } },
  );
  const load = wllama.loadModel([gguf], {
    n_ctx: contextTokens,
    n_batch: contextTokens,
    n_threads: threads,
    cache_type_k: 'f32',
    cache_type_v: 'f32',
    flash_attn: false,
    seed: 1,
  });
  await load.catch((cause: unknown) => {
    // What it rejects with says nothing; the reason is in the log.
    const reason = log.filter((line) => /error|fail|assert/i.test(line)).slice(-4);
    throw new Error(`llama.cpp cannot load the file: ${reason.join('; ')}`, { cause });
  });
  const loaded = wllama.getLoadedContextInfo();
  const next = async (tokens: readonly number[], top: number): Promise<TokenLogprob[]> => {
    await wllama.decode([...tokens], {});
    const likely = await wllama.getLogits(Math.min(top, loaded.n_vocab));
    return likely.map(({ token, p }) => ({ id: token, logprob: Math.log(p) }));
  };
  return {
    info: {
      version: Wllama.getLibllamaVersion(),
      vocabSize: loaded.n_vocab,
      contextTokens: loaded.n_ctx,
      layers: loaded.n_layer,
      hiddenSize: loaded.n_embd,
      bosId: loaded.token_bos,
      eosId: loaded.token_eos,
      endIds: loaded.list_tokens_eog,
      addBos: loaded.add_bos_token,
      addEos: loaded.add_eos_token,
      metadata: loaded.metadata,
    },
    tokenize: (text, special = true) => wllama.tokenize(text, special),
    vocabulary: () => wllama.getVocab(),
    detokenize: (tokens) => wllama.detokenize([...tokens]),
    formatChat: (messages) => wllama.formatChat([...messages], true),
    logprobs: async (tokens, top = 1) => {
      await wllama.kvClear();
      const positions: TokenLogprob[][] = [];
      for (const token of tokens) positions.push(await next([token], top));
      return positions;
    },
    greedy: async (prompt, count) => {
      await wllama.kvClear();
      const tokens: number[] = [];
      let input = prompt;
      while (tokens.length < count) {
        const [best] = await next(input, 1);
        tokens.push(best!.id);
        input = [best!.id];
      }
      return tokens;
    },
    dispose: () => wllama.exit(),
    [Symbol.asyncDispose]: () => wllama.exit(),
  };
}
