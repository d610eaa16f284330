import type { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { TokenglassError } from '../../shared/errors.ts';
import { BpeModel, rankMerges } from './bpe-model.ts';
import { byteTokenText } from './byte-tokens.ts';
import { invalidHub, isByteLevel, tokenText, type HubTokenizerJson } from './hub-files.ts';
import { MarkedWords } from './marked-words.ts';

/** Appends the ids of a word, as the pre-tokenizer gives it, to `out`. */
export type EncodeWord = (word: string, out: number[]) => void;

const encoder = new TextEncoder();

/**
 * The BPE model of a `tokenizer.json`.
 * @param ids id by text; control and byte tokens are taken out of it, so that no typed text can become one
 */
export function createBpeEncoder(
  json: HubTokenizerJson,
  ids: Map<string, number>,
  controlIds: ReadonlySet<number>,
): EncodeWord {
  const { model } = json;
  for (const part of ['end_of_word_suffix', 'continuing_subword_prefix']) {
    if (tokenText(model[part]) === undefined) continue;
    throw new TokenglassError(
      'model-unsupported',
      `Cannot read the tokenizer: its BPE model has a "${part}"; use a model with byte-level or SentencePiece-style BPE`,
    );
  }
  const onUnknown = createUnknown(json, ids);
  dropIds(ids, controlIds);
  const bpe = new BpeModel({
    ids,
    ranks: rankMerges(readMerges(model['merges'])),
    ignoreMerges: model['ignore_merges'] === true,
    onUnknown,
  });
  if (isByteLevel(json)) return (word, out) => bpe.encode(word, out);
  const words = new MarkedWords(ids.keys());
  return (word, out) => words.split(word, (part) => bpe.encode(part, out));
}

/** The Unigram model of a `tokenizer.json`, as the library has it. */
export function createUnigramEncoder(
  library: HuggingFaceTokenizer,
  ids: Map<string, number>,
  controlIds: ReadonlySet<number>,
): EncodeWord {
  const model = library.model;
  if (model === null) throw invalidHub('tokenizer.json has no model');
  const unknownId = model.unk_token_id;
  dropIds(ids, controlIds);
  return (word, out) => {
    for (const token of model._call([word])) {
      const id = ids.get(token) ?? unknownId;
      if (id !== undefined) out.push(id);
    }
  };
}

/** What becomes of a symbol that is no token: its bytes where there are tokens for them, else the unknown token. */
function createUnknown({ model }: HubTokenizerJson, ids: Map<string, number>): EncodeWord {
  const unknownText = tokenText(model['unk_token']);
  const unknownId = unknownText === undefined ? undefined : ids.get(unknownText);
  const byteIds = model['byte_fallback'] === true ? takeByteIds(ids) : undefined;
  const fuses = model['fuse_unk'] === true;
  return (symbol, out) => {
    if (byteIds !== undefined) for (const byte of encoder.encode(symbol)) out.push(byteIds[byte]!);
    else if (unknownId !== undefined && !(fuses && out.at(-1) === unknownId)) out.push(unknownId);
  };
}

/** Ids of `<0x00>` to `<0xFF>`, taken out of `ids`; undefined if the vocabulary does not have them all. */
function takeByteIds(ids: Map<string, number>): number[] | undefined {
  const texts = Array.from({ length: 256 }, (_, byte) => byteTokenText(byte));
  const byteIds = texts.map((text) => ids.get(text)).filter((id) => id !== undefined);
  for (const text of texts) ids.delete(text);
  return byteIds.length === 256 ? byteIds : undefined;
}

function dropIds(ids: Map<string, number>, dropped: ReadonlySet<number>): void {
  const texts = [...ids].filter(([, id]) => dropped.has(id)).map(([text]) => text);
  for (const text of texts) ids.delete(text);
}

function readMerges(merges: unknown): readonly (string | readonly string[])[] {
  const isMerge = (merge: unknown) => typeof merge === 'string' || (Array.isArray(merge) && merge.length === 2);
  if (!Array.isArray(merges) || !isMerge(merges[0] ?? '')) throw invalidHub('tokenizer.json has no merges');
  return merges as readonly (string | readonly string[])[];
}
