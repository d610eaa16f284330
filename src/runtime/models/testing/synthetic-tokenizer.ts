import { bool, str, u32, type TypedValue } from './gguf-writer.ts';

export type SyntheticTokenizer = 'gpt2' | 'spm';

type Metadata = (readonly [string, TypedValue])[];

/** Token types of GGUF. */
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const BYTE = 6;

/** Smallest vocabulary: bytes, a few pieces, control tokens. */
export const LEAST_VOCAB = 300;

const CHAT_TEMPLATE =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** Pieces that make some merging happen in plain English. */
const MERGES = ['Ġ t', 'h e', 'Ġt he', 'i n', 'e r', 'Ġ a', 'o n', 'r e', 'Ġ s', 'a t', 'Ġa t', 'Ġ Ġ', 'ĠĠ ĠĠ'];

/** Metadata of a tokenizer that llama.cpp accepts: all bytes, some pieces, fillers up to `vocab`, and control tokens at the end. */
export function syntheticTokenizer(kind: SyntheticTokenizer, vocab: number, pre: string): Metadata {
  if (vocab < LEAST_VOCAB) throw new RangeError(`Cannot make a vocabulary of ${vocab}: ${LEAST_VOCAB} are needed`);
  return kind === 'gpt2' ? byteLevel(vocab, pre) : sentencePiece(vocab);
}

function byteLevel(vocab: number, pre: string): Metadata {
  const tokens = [...byteCharacters(), ...MERGES.map((merge) => merge.replace(' ', ''))];
  const control = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
  for (let id = tokens.length; id < vocab - control.length; id++) tokens.push(`filler${id}`);
  tokens.push(...control);
  const types = new Int32Array(vocab).fill(NORMAL).fill(CONTROL, vocab - control.length);
  return [
    ['tokenizer.ggml.model', str('gpt2')],
    ['tokenizer.ggml.pre', str(pre)],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'int32s', value: types }],
    ['tokenizer.ggml.merges', { type: 'strings', value: MERGES }],
    ['tokenizer.ggml.bos_token_id', u32(vocab - 3)],
    ['tokenizer.ggml.eos_token_id', u32(vocab - 1)],
    ['tokenizer.ggml.add_bos_token', bool(false)],
    ['tokenizer.chat_template', str(CHAT_TEMPLATE)],
  ];
}

function sentencePiece(vocab: number): Metadata {
  const tokens = ['<unk>', '<s>', '</s>'];
  const types = [UNKNOWN, CONTROL, CONTROL];
  for (let byte = 0; byte < 256; byte++) {
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
    types.push(BYTE);
  }
  tokens.push('▁', ...Array.from('etaoinshrdlu'), '▁t', 'he', '▁the');
  // llama.cpp looks <|endoftext|> up in every file of phi3.
  const control = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
  for (let id = tokens.length; id < vocab - control.length; id++) tokens.push(`filler${id}`);
  tokens.push(...control);
  while (types.length < vocab) types.push(types.length < vocab - control.length ? NORMAL : CONTROL);
  return [
    ['tokenizer.ggml.model', str('llama')],
    ['tokenizer.ggml.pre', str('default')],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.scores', { type: 'float32s', value: Float32Array.from(tokens, (_, id) => (id < 259 ? 0 : 258 - id)) }],
    ['tokenizer.ggml.token_type', { type: 'int32s', value: Int32Array.from(types) }],
    ['tokenizer.ggml.bos_token_id', u32(1)],
    ['tokenizer.ggml.eos_token_id', u32(vocab - 1)],
    ['tokenizer.ggml.unknown_token_id', u32(0)],
    ['tokenizer.ggml.add_bos_token', bool(true)],
    ['tokenizer.chat_template', str(CHAT_TEMPLATE)],
  ];
}

/** GPT-2's names of the bytes 0 to 255: printable ones stand for themselves, the others for characters from U+0100 on. */
function byteCharacters(): string[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCharCode(isPrintable ? byte : next++);
  });
}
