/** A metadata value as the reader of GGUF gives it. */
export type MetadataValue = string | number | boolean | readonly string[] | Int32Array | Float32Array;

/** The parts of a `tokenizer.json` that a GGUF conversion reads. */
export interface TestTokenizerJson {
  model: { vocab: Record<string, number>; merges: (string | [string, string])[] };
  added_tokens: { id: number; content: string; special: boolean }[];
}

const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const USER_DEFINED = 4;
const BYTE = 6;

/** GGUF metadata of a byte-level BPE tokenizer, as llama.cpp's converter writes it. */
export function toByteLevelMetadata(
  { model, added_tokens }: TestTokenizerJson,
  pre: string,
  special: Readonly<Record<string, number | boolean>> = {},
): Map<string, MetadataValue> {
  const { tokens, types } = listTokens(model.vocab, added_tokens);
  return new Map<string, MetadataValue>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.pre', pre],
    ['tokenizer.ggml.tokens', tokens],
    ['tokenizer.ggml.token_type', types],
    ['tokenizer.ggml.merges', model.merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' ')))],
    ...specialEntries(special),
  ]);
}

/** GGUF metadata of a SentencePiece tokenizer; the scores of its pieces fall with their ids, as SentencePiece's BPE trainer gives them. */
export function toSentencePieceMetadata(
  { model, added_tokens }: TestTokenizerJson,
  special: Readonly<Record<string, number | boolean>> = {},
): Map<string, MetadataValue> {
  const { tokens, types } = listTokens(model.vocab, added_tokens);
  const scores = new Float32Array(tokens.length);
  let score = 0;
  tokens.forEach((text, id) => {
    if (/^<0x[0-9A-F]{2}>$/.test(text)) types[id] = BYTE;
    if (text === '<unk>') types[id] = UNKNOWN;
    if (types[id] === NORMAL) scores[id] = score--;
  });
  return new Map<string, MetadataValue>([
    ['tokenizer.ggml.model', 'llama'],
    ['tokenizer.ggml.tokens', tokens],
    ['tokenizer.ggml.token_type', types],
    ['tokenizer.ggml.scores', scores],
    ...specialEntries(special),
  ]);
}

function listTokens(vocab: Record<string, number>, added: TestTokenizerJson['added_tokens']) {
  const ids = [...Object.values(vocab), ...added.map(({ id }) => id)];
  const size = ids.reduce((a, b) => Math.max(a, b), 0) + 1;
  const tokens = Array.from({ length: size }, (_, id) => `[PAD${id}]`);
  const types = new Int32Array(size).fill(NORMAL);
  for (const [text, id] of Object.entries(vocab)) tokens[id] = text;
  for (const { id, content, special } of added) {
    tokens[id] = special ? content : content.replaceAll('\u2581', ' ');
    types[id] = special ? CONTROL : USER_DEFINED;
  }
  return { tokens, types };
}

function specialEntries(special: Readonly<Record<string, number | boolean>>): [string, MetadataValue][] {
  return Object.entries(special).map(([key, value]) => [`tokenizer.ggml.${key}`, value]);
}
