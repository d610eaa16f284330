import { TokenglassError } from '../../shared/errors.ts';
import type { AddedToken } from './added-tokens.ts';

/** The files of a model on the Hub that describe its tokenizer, parsed from JSON. */
export interface HubTokenizerFiles {
  /** `tokenizer.json` */
  tokenizerJson: unknown;
  /** `tokenizer_config.json`; older repositories may have none. */
  tokenizerConfig?: unknown;
  /** `generation_config.json` */
  generationConfig?: unknown;
}

/** Ids beyond this are a broken file; the largest vocabularies have a quarter of a million tokens. */
const MAX_TOKENS = 2 ** 24;

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** The parts of a `tokenizer.json` that we read ourselves. */
export interface HubTokenizerJson {
  model: Json & { type: 'BPE' | 'Unigram' };
  addedTokens: readonly AddedToken[];
  normalizer: unknown;
  preTokenizer: unknown;
  postProcessor: unknown;
  decoder: unknown;
}

/** @throws TokenglassError `model-invalid`, `model-unsupported` */
export function readTokenizerJson(value: unknown): HubTokenizerJson {
  if (!isObject(value) || !isObject(value['model'])) throw invalidHub('tokenizer.json has no model');
  const model = value['model'];
  const type = model['type'] ?? (Array.isArray(model['vocab']) ? 'Unigram' : 'BPE');
  if (type !== 'BPE' && type !== 'Unigram') {
    const name = typeof type === 'string' ? type : 'unknown';
    throw new TokenglassError(
      'model-unsupported',
      `Cannot read the tokenizer: its model is of type "${name}"; use a model with a BPE or Unigram tokenizer`,
      { details: { tokenizerModel: name } },
    );
  }
  const added = value['added_tokens'] ?? [];
  if (!Array.isArray(added)) throw invalidHub('"added_tokens" of tokenizer.json is not an array');
  return {
    model: { ...model, type },
    addedTokens: added.map(readAddedToken),
    normalizer: value['normalizer'] ?? null,
    preTokenizer: value['pre_tokenizer'] ?? null,
    postProcessor: value['post_processor'] ?? null,
    decoder: value['decoder'] ?? null,
  };
}

/** An object, or an empty one in place of anything else. */
export function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of `bos_token` and the like: a string or an object with the content. */
export function tokenText(value: unknown): string | undefined {
  const text = isObject(value) ? value['content'] : value;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** All parts of a normalizer, pre-tokenizer, post-processor or decoder, those within sequences too. */
export function listParts(part: unknown): Json[] {
  if (!isObject(part)) return [];
  const lists = ['normalizers', 'pretokenizers', 'processors', 'decoders'].map((key) => part[key]);
  return [part, ...lists.flatMap((list) => (Array.isArray(list) ? list.flatMap(listParts) : []))];
}

/** Text by id (holes are undefined) and id by text, added tokens included. @throws TokenglassError `model-invalid` */
export function listTokens({ model, addedTokens }: HubTokenizerJson): {
  tokens: readonly (string | undefined)[];
  ids: Map<string, number>;
} {
  const tokens: (string | undefined)[] = [];
  const ids = new Map<string, number>();
  const add = (text: unknown, id: unknown) => {
    if (typeof text !== 'string' || typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= MAX_TOKENS) {
      throw invalidHub('the vocabulary of tokenizer.json has an entry that is no text with an id');
    }
    tokens[id] = text;
    ids.set(text, id);
  };
  const vocab = model['vocab'];
  if (Array.isArray(vocab)) {
    vocab.forEach((entry: unknown, id) => add(Array.isArray(entry) ? entry[0] : undefined, id));
  } else if (isObject(vocab)) {
    for (const text in vocab) add(text, vocab[text]);
  } else {
    throw invalidHub('tokenizer.json has no vocabulary');
  }
  for (const { id, content } of addedTokens) add(content, id);
  return { tokens, ids };
}

/** True if tokens are written in the byte-level alphabet of GPT-2. */
export function isByteLevel({ decoder, preTokenizer }: HubTokenizerJson): boolean {
  return [...listParts(decoder), ...listParts(preTokenizer)].some(({ type }) => type === 'ByteLevel');
}

/** True if decoding drops a space at the very start: it was put there when the text was encoded. */
export function dropsLeadingSpace(decoder: unknown): boolean {
  return listParts(decoder).some((part) => {
    if (part['type'] === 'Strip') return part['content'] === ' ' && Number(part['start']) > 0;
    if (part['type'] !== 'Metaspace') return false;
    return part['prepend_scheme'] === undefined
      ? part['add_prefix_space'] !== false
      : part['prepend_scheme'] !== 'never';
  });
}

/** An error on files that contradict themselves. */
export function invalidHub(what: string): TokenglassError {
  return new TokenglassError('model-invalid', `Cannot read the tokenizer: ${what}; download the model again`);
}

function readAddedToken(value: unknown): AddedToken {
  const { id, content, special, lstrip, rstrip, normalized } = asObject(value);
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0 || typeof content !== 'string') {
    throw invalidHub('an entry of "added_tokens" of tokenizer.json has no id or content');
  }
  return {
    id,
    content,
    special: special === true,
    lstrip: lstrip === true,
    rstrip: rstrip === true,
    normalized: normalized === true,
  };
}
