import { TokenglassError } from '../../shared/errors.ts';
import { findNamedTokens } from './end-tokens.ts';

/** Metadata of a GGUF file by key; what `readGgufHeader` gives. */
export interface GgufTokenizerMetadata {
  get(key: string): unknown;
}

/** Types of tokens (`tokenizer.ggml.token_type`). */
export const TOKEN_TYPE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** Tokens of a GGUF file with what the metadata says of them. */
export interface GgufVocabulary {
  /** Text of each token, as in the file. */
  tokens: readonly string[];
  /** One of {@link TOKEN_TYPE} for each token. */
  types: Uint8Array;
  /** Ids by text; control tokens and single bytes (`<0x0A>`) are left out, so that no typed text can become one. */
  plainIds: ReadonlyMap<string, number>;
  /** Ids of the tokens for single bytes, by their text. */
  byteIds: ReadonlyMap<string, number>;
  /** The `<unk>` and control tokens: never shown, never made from plain text. */
  controlIds: ReadonlySet<number>;
  endIds: readonly number[];
  bosId?: number;
  eosId?: number;
}

/**
 * Reads tokens, their types and the special ids.
 * @param defaults ids that the kind of tokenizer has where the file does not say
 * @throws TokenglassError `model-invalid`
 */
export function readVocabulary(
  metadata: GgufTokenizerMetadata,
  defaults: { bosId?: number; eosId?: number },
): GgufVocabulary {
  const tokens = readStrings(metadata, 'tokenizer.ggml.tokens').map((text, id) =>
    text === '' ? `[EMPTY_${id}]` : text,
  );
  const types = readTypes(metadata, tokens.length);
  const ids = new Map<string, number>();
  tokens.forEach((text, id) => {
    if (!ids.has(text)) ids.set(text, id);
  });
  const named = findNamedTokens((text) => ids.get(text));
  const controlIds = new Set(named.controls);
  types.forEach((type, id) => {
    if (type === TOKEN_TYPE.control || type === TOKEN_TYPE.unknown) controlIds.add(id);
  });
  const special = (name: string, fallback?: number) => readId(metadata, name, tokens.length) ?? fallback;
  const bosId = special('bos', defaults.bosId);
  const eosId = special('eos', defaults.eosId);
  const ends = new Set(named.ends);
  for (const id of [eosId, special('eot'), special('eom')]) if (id !== undefined) ends.add(id);
  for (const id of controlIds) ids.delete(tokens[id]!);
  const byteIds = new Map<string, number>();
  types.forEach((type, id) => {
    if (type !== TOKEN_TYPE.byte) return;
    byteIds.set(tokens[id]!, id);
    ids.delete(tokens[id]!);
  });
  return {
    tokens,
    types,
    plainIds: ids,
    byteIds,
    controlIds,
    endIds: [...ends].sort((a, b) => a - b),
    ...(bosId === undefined ? {} : { bosId }),
    ...(eosId === undefined ? {} : { eosId }),
  };
}

/** An array of strings of the metadata. @throws TokenglassError `model-invalid` if it is missing or of another type */
export function readStrings(metadata: GgufTokenizerMetadata, key: string): readonly string[] {
  const value = metadata.get(key);
  if (Array.isArray(value) && (value.length === 0 || typeof value[0] === 'string')) return value as readonly string[];
  throw invalid(`"${key}" is ${value === undefined ? 'missing' : 'not an array of strings'}`);
}

/** A boolean of the metadata, or the default. */
export function readBoolean(metadata: GgufTokenizerMetadata, key: string, fallback: boolean): boolean {
  const value = metadata.get(key);
  return typeof value === 'boolean' ? value : fallback;
}

/** An array of numbers with an element for each token; undefined if it is missing. @throws TokenglassError `model-invalid` */
export function readPerToken(
  metadata: GgufTokenizerMetadata,
  key: string,
  count: number,
): ArrayLike<number> | undefined {
  const value = metadata.get(key);
  if (value === undefined) return undefined;
  if (!isNumbers(value)) throw invalid(`"${key}" is not an array of numbers of at most 32 bits`);
  if (value.length < count) throw invalid(`"${key}" has ${value.length} elements for ${count} tokens`);
  return value;
}

/** 64-bit integers come as bigint, which no arithmetic of the tokenizers takes. */
function isNumbers(value: unknown): value is ArrayLike<number> {
  if (Array.isArray(value)) return value.every((element) => typeof element === 'number');
  if (value instanceof BigInt64Array || value instanceof BigUint64Array) return false;
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** An error on a tokenizer that contradicts itself. */
export function invalid(what: string): TokenglassError {
  return new TokenglassError(
    'model-invalid',
    `Cannot read the tokenizer: ${what}; download the model again or use another file`,
  );
}

function readTypes(metadata: GgufTokenizerMetadata, count: number): Uint8Array {
  const types = readPerToken(metadata, 'tokenizer.ggml.token_type', count);
  return types === undefined ? new Uint8Array(count).fill(TOKEN_TYPE.normal) : Uint8Array.from(types).slice(0, count);
}

/**
 * A special id; an integer outside the vocabulary counts as not there, as in llama.cpp.
 * @throws TokenglassError `model-invalid` for what is no integer
 */
function readId(metadata: GgufTokenizerMetadata, name: string, count: number): number | undefined {
  const key = `tokenizer.ggml.${name}_token_id`;
  const value = metadata.get(key);
  if (value === undefined || typeof value === 'bigint') return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value)) throw invalid(`"${key}" is not an integer`);
  return value >= 0 && value < count ? value : undefined;
}
