import { TokenglassError } from '../../shared/errors.ts';
import { BpeModel, rankMerges } from './bpe-model.ts';
import { byteTokenText, parseByteToken } from './byte-tokens.ts';
import { fromByteAlphabet, toByteAlphabet } from './byte-alphabet.ts';
import { ControlSplitter, type Fragment, type SpecialToken } from './control-splitter.ts';
import {
  TOKEN_TYPE,
  invalid,
  readBoolean,
  readPerToken,
  readStrings,
  readVocabulary,
  type GgufTokenizerMetadata,
  type GgufVocabulary,
} from './gguf-vocabulary.ts';
import { findPreTokenizer, splitWords } from './pre-tokenizers.ts';
import { SPACE_MARK } from './marked-words.ts';
import { SentencePieceModel } from './sentencepiece-model.ts';
import type { Tokenizer } from './tokenizer.ts';
import { toWellFormed } from './well-formed.ts';

/** What differs between the kinds of tokenizers of GGUF files. */
interface Scheme {
  vocabulary: GgufVocabulary;
  addBos: boolean;
  /** One space goes before plain text at the start and after a special token. */
  addSpacePrefix: boolean;
  /** Appends the ids of plain text. */
  encodePlain: (text: string, out: number[]) => void;
  /** Bytes of an ordinary token by its text. */
  decodePlain: (token: string) => Uint8Array;
}

const encoder = new TextEncoder();
const NO_BYTES = new Uint8Array(0);

/**
 * The tokenizer that a GGUF file describes: byte-level BPE (`gpt2`) or SentencePiece with scores (`llama`). It gives the tokens that
 * llama.cpp gives, but for one thing: control tokens in text of a user never come about by merging.
 *
 * `tokenizer.ggml.add_eos_token` is not followed: an end token after a prompt would end the answer before it begins.
 *
 * @throws TokenglassError `model-invalid` for metadata that is missing or contradicts itself, `model-unsupported` for a kind of
 *   tokenizer or a pre-tokenizer that is not known (named in the message)
 */
export function createGgufTokenizer(metadata: GgufTokenizerMetadata): Tokenizer {
  const model = metadata.get('tokenizer.ggml.model');
  if (model === 'gpt2') return new GgufTokenizer(createByteLevelScheme(metadata), metadata);
  if (model === 'llama') return new GgufTokenizer(createSentencePieceScheme(metadata), metadata);
  if (typeof model !== 'string') throw invalid('"tokenizer.ggml.model" is missing');
  throw new TokenglassError(
    'model-unsupported',
    `Cannot read the tokenizer: its kind is "${model}"; use a model with a "gpt2" (BPE) or "llama" (SentencePiece) tokenizer`,
    { details: { tokenizerModel: model } },
  );
}

function createByteLevelScheme(metadata: GgufTokenizerMetadata): Scheme {
  const name = metadata.get('tokenizer.ggml.pre');
  const preTokenizer = findPreTokenizer(typeof name === 'string' ? name : 'default');
  const vocabulary = readVocabulary(metadata, {});
  const bpe = new BpeModel({
    ids: vocabulary.plainIds,
    ranks: rankMerges(readStrings(metadata, 'tokenizer.ggml.merges')),
    ignoreMerges: preTokenizer.ignoreMerges,
    prepare: toByteAlphabet,
    // A byte without a token of its own is a hole in the vocabulary; llama.cpp drops it too.
    onUnknown: () => undefined,
  });
  return {
    vocabulary,
    addBos: readBoolean(metadata, 'tokenizer.ggml.add_bos_token', preTokenizer.addBos),
    addSpacePrefix: false,
    encodePlain: (text, out) => {
      for (const word of splitWords(text, preTokenizer.patterns)) bpe.encode(word, out);
    },
    decodePlain: (token) => fromByteAlphabet(token) ?? encoder.encode(token),
  };
}

function createSentencePieceScheme(metadata: GgufTokenizerMetadata): Scheme {
  const vocabulary = readVocabulary(metadata, { bosId: 1, eosId: 2 });
  const { tokens, plainIds, byteIds } = vocabulary;
  const scores = readPerToken(metadata, 'tokenizer.ggml.scores', tokens.length) ?? new Float32Array(tokens.length);
  const model = new SentencePieceModel({
    ids: plainIds,
    scores,
    byteId: (byte) => byteIds.get(byteTokenText(byte)) ?? plainIds.get(String.fromCharCode(byte)),
  });
  return {
    vocabulary,
    addBos: readBoolean(metadata, 'tokenizer.ggml.add_bos_token', true),
    addSpacePrefix: readBoolean(metadata, 'tokenizer.ggml.add_space_prefix', true),
    encodePlain: (text, out) => model.encode(text.replaceAll(' ', SPACE_MARK), out),
    decodePlain: (token) => encoder.encode(token.replaceAll(SPACE_MARK, ' ')),
  };
}

class GgufTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly bosId?: number;
  readonly addBos: boolean;
  readonly endIds: readonly number[];
  readonly stripsLeadingSpace: boolean;
  readonly controlTexts: readonly string[];
  readonly #scheme: Scheme;
  readonly #splitter: ControlSplitter;

  constructor(scheme: Scheme, metadata: GgufTokenizerMetadata) {
    const { bosId, endIds, tokens } = scheme.vocabulary;
    if (scheme.addBos && bosId === undefined)
      throw invalid('it wants a BOS first, and "tokenizer.ggml.bos_token_id" is missing');
    const specials = findSpecials(scheme.vocabulary, metadata.get('general.name'));
    this.#scheme = scheme;
    this.#splitter = new ControlSplitter(specials);
    this.vocabSize = tokens.length;
    if (bosId !== undefined) this.bosId = bosId;
    this.addBos = scheme.addBos;
    this.endIds = endIds;
    this.stripsLeadingSpace = scheme.addSpacePrefix;
    this.controlTexts = specials.filter(({ isControl }) => isControl).map(({ text }) => text);
  }

  encode(text: string, parseControl = false): number[] {
    return this.#encodeFragments(this.#splitter.split(toWellFormed(text), parseControl));
  }

  encodeGuarded(text: string, guard: string): number[] {
    const fragments = this.#splitter.split(toWellFormed(text), true);
    return this.#encodeFragments(
      fragments.flatMap((fragment) =>
        typeof fragment === 'string' && fragment.includes(guard)
          ? this.#splitter.split(fragment.replaceAll(guard, ''), false)
          : fragment,
      ),
    );
  }

  tokenBytes(id: number): Uint8Array {
    const { tokens, types } = this.#scheme.vocabulary;
    const text = tokens[id];
    if (text === undefined || this.isControl(id)) return NO_BYTES;
    switch (types[id]) {
      case TOKEN_TYPE.userDefined:
        return encoder.encode(text);
      case TOKEN_TYPE.normal:
        return this.#scheme.decodePlain(text);
      case TOKEN_TYPE.byte: {
        const byte = parseByteToken(text);
        return byte === undefined ? NO_BYTES : Uint8Array.of(byte);
      }
      default:
        return NO_BYTES;
    }
  }

  isControl(id: number): boolean {
    return this.#scheme.vocabulary.controlIds.has(id);
  }

  #encodeFragments(fragments: readonly Fragment[]): number[] {
    const { addSpacePrefix, encodePlain } = this.#scheme;
    const ids: number[] = [];
    let afterSpecial = true;
    for (const fragment of fragments) {
      if (typeof fragment === 'number') ids.push(fragment);
      else encodePlain(addSpacePrefix && afterSpecial ? ` ${fragment}` : fragment, ids);
      afterSpecial = typeof fragment === 'number';
    }
    return ids;
  }
}

function findSpecials({ tokens, types, controlIds }: GgufVocabulary, modelName: unknown): SpecialToken[] {
  // Phi-3's files do not say that its control tokens swallow the white space after them; llama.cpp goes by the name, too.
  const isPhi3 = typeof modelName === 'string' && /phi-?3/i.test(modelName);
  const keepsSpace = new Set(['<unk>', '<s>', '<|endoftext|>']);
  const specials: SpecialToken[] = [];
  tokens.forEach((text, id) => {
    const isControl = controlIds.has(id);
    if (!isControl && types[id] !== TOKEN_TYPE.userDefined) return;
    specials.push({ id, text, isControl, stripsRight: isPhi3 && !keepsSpace.has(text) });
  });
  return specials;
}
