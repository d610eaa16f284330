import { toByteAlphabet } from '../byte-alphabet.ts';
import { byteTokenText } from '../byte-tokens.ts';
import type { MetadataValue } from './vocabularies.ts';

/** Ids of the control tokens of the small vocabularies. */
export const BOS = 0;
export const START = 1;
export const END = 2;
const CONTROLS = ['<s>', '<|im_start|>', '<|im_end|>'];

/** Turns in ChatML, without a BOS. */
export const CHATML =
  "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const byteTexts = Array.from({ length: 256 }, (_, byte) => byte);

/** A byte-level vocabulary of three control tokens, 256 bytes and a few merges. */
export function makeByteLevelMetadata(
  changes: Readonly<Record<string, MetadataValue | undefined>> = {},
): Map<string, MetadataValue> {
  const merges = ['h e', 'l l', 'he ll', 'hell o', 'Ġ hello', '< |', '| >'];
  const bytes = byteTexts.map((byte) => byteChar(byte));
  const tokens = [...CONTROLS, ...bytes, ...merges.map((merge) => merge.replace(' ', ''))];
  return withChanges(
    new Map<string, MetadataValue>([
      ['tokenizer.ggml.model', 'gpt2'],
      ['tokenizer.ggml.pre', 'gpt-2'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', Int32Array.from(tokens, (_, id) => (id < CONTROLS.length ? 3 : 1))],
      ['tokenizer.ggml.merges', merges],
      ['tokenizer.ggml.bos_token_id', BOS],
      ['tokenizer.ggml.eos_token_id', END],
      ['tokenizer.ggml.add_bos_token', true],
      ['tokenizer.chat_template', CHATML],
    ]),
    changes,
  );
}

/** A SentencePiece vocabulary: control tokens, `<unk>`, 256 bytes and pieces whose scores fall with their ids. */
export function makeSentencePieceMetadata(
  changes: Readonly<Record<string, MetadataValue | undefined>> = {},
): Map<string, MetadataValue> {
  const pieces = ['▁', 'h', 'e', 'l', 'o', '<', 's', '>', 'he', 'll', 'hell', 'hello', '▁hello', '<s', 's>'];
  const tokens = [...CONTROLS, '<unk>', ...byteTexts.map(byteTokenText), ...pieces];
  const firstPiece = tokens.length - pieces.length;
  const type = (id: number) => (id < CONTROLS.length ? 3 : id === CONTROLS.length ? 2 : id < firstPiece ? 6 : 1);
  return withChanges(
    new Map<string, MetadataValue>([
      ['tokenizer.ggml.model', 'llama'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', Int32Array.from(tokens, (_, id) => type(id))],
      ['tokenizer.ggml.scores', Float32Array.from(tokens, (_, id) => (id < firstPiece ? 0 : firstPiece - id))],
      ['tokenizer.ggml.bos_token_id', BOS],
      ['tokenizer.ggml.eos_token_id', END],
    ]),
    changes,
  );
}

function byteChar(byte: number): string {
  if (byte < 0x80) return toByteAlphabet(String.fromCharCode(byte));
  // Lead and continuation bytes cannot be encoded alone; take them from characters that hold them.
  if (byte < 0xc0) return toByteAlphabet(String.fromCharCode(byte)).charAt(1);
  if (byte >= 0xc2 && byte < 0xe0) return toByteAlphabet(String.fromCharCode((byte & 0x1f) << 6)).charAt(0);
  // What is printable in Latin-1 stands for itself.
  return String.fromCharCode(byte);
}

function withChanges(
  metadata: Map<string, MetadataValue>,
  changes: Readonly<Record<string, MetadataValue | undefined>>,
): Map<string, MetadataValue> {
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) metadata.delete(key);
    else metadata.set(key, value);
  }
  return metadata;
}
