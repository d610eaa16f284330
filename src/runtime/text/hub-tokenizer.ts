import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { TokenglassError } from '../../shared/errors.ts';
import { AddedTokenSplitter, type AddedToken } from './added-tokens.ts';
import { fromByteAlphabet } from './byte-alphabet.ts';
import { parseByteToken } from './byte-tokens.ts';
import type { Fragment } from './control-splitter.ts';
import {
  asObject,
  dropsLeadingSpace,
  isByteLevel,
  listTokens,
  readTokenizerJson,
  type HubTokenizerFiles,
  type HubTokenizerJson,
} from './hub-files.ts';
import { createBpeEncoder, createUnigramEncoder, type EncodeWord } from './hub-model.ts';
import { findHubSpecial, type HubSpecial } from './hub-special.ts';
import { adaptPreTokenizer } from './hub-pre-tokenizer.ts';
import { SPACE_MARK } from './marked-words.ts';
import type { Tokenizer } from './tokenizer.ts';
import { toWellFormed } from './well-formed.ts';

const encoder = new TextEncoder();
const NO_BYTES = new Uint8Array(0);

/**
 * The tokenizer of a model on the Hub, from its `tokenizer.json` and the files beside it. Normalizer, pre-tokenizer and Unigram models
 * are those of `@huggingface/tokenizers`; BPE merges and added tokens are our own, which load and run several times faster and can
 * leave control tokens in text of a user alone.
 *
 * @throws TokenglassError `model-invalid` for files that contradict themselves, `model-unsupported` for parts that are not known
 */
export function createHubTokenizer(files: HubTokenizerFiles): Tokenizer {
  const json = readTokenizerJson(files.tokenizerJson);
  const library = createLibraryTokenizer(json, asObject(files.tokenizerConfig));
  const { tokens, ids } = listTokens(json);
  const special = findHubSpecial(json, files, (text) => ids.get(text));
  const encodeWord =
    json.model.type === 'BPE'
      ? createBpeEncoder(json, ids, special.controlIds)
      : createUnigramEncoder(library, ids, special.controlIds);
  return new HubTokenizer({ json, library, tokens, special, encodeWord });
}

interface HubParts {
  json: HubTokenizerJson;
  library: HuggingFaceTokenizer;
  /** Text by id; holes are undefined. */
  tokens: readonly (string | undefined)[];
  special: HubSpecial;
  encodeWord: EncodeWord;
}

class HubTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly bosId?: number;
  readonly addBos: boolean;
  readonly endIds: readonly number[];
  readonly stripsLeadingSpace: boolean;
  readonly controlTexts: readonly string[];
  readonly #parts: HubParts;
  readonly #isByteLevel: boolean;
  readonly #hasByteTokens: boolean;
  readonly #addedIds: ReadonlySet<number>;
  /** Finds all added tokens in raw text. */
  readonly #allSplitter: AddedTokenSplitter;
  /** Finds those that are no control tokens. */
  readonly #plainSplitter: AddedTokenSplitter;
  /** Finds those that are to be found in normalized text. */
  readonly #normalizedSplitter: AddedTokenSplitter;

  constructor(parts: HubParts) {
    const { json, library, tokens, special } = parts;
    this.#parts = parts;
    this.vocabSize = tokens.length;
    if (special.bosId !== undefined) this.bosId = special.bosId;
    this.addBos = special.addBos;
    this.endIds = special.endIds;
    this.stripsLeadingSpace = dropsLeadingSpace(json.decoder);
    this.#isByteLevel = isByteLevel(json);
    this.#hasByteTokens = json.model['byte_fallback'] === true;
    this.#addedIds = new Set(json.addedTokens.map(({ id }) => id));

    const isControl = ({ id }: { id: number }) => special.controlIds.has(id);
    const isNormalized = (token: AddedToken) => token.normalized && library.normalizer !== null && !isControl(token);
    const added = [...json.addedTokens, ...this.#findUnlistedControls()];
    const raw = added.filter((token) => !isNormalized(token));
    this.#allSplitter = new AddedTokenSplitter(raw);
    this.#plainSplitter = new AddedTokenSplitter(raw.filter((token) => !isControl(token)));
    this.#normalizedSplitter = new AddedTokenSplitter(added.filter(isNormalized), ({ content }) =>
      this.#normalize(content),
    );
    this.controlTexts = raw.filter(isControl).map(({ content }) => content);
  }

  encode(text: string, parseControl = false): number[] {
    const splitter = parseControl ? this.#allSplitter : this.#plainSplitter;
    return this.#encodeFragments(splitter.split(toWellFormed(text)));
  }

  encodeGuarded(text: string, guard: string): number[] {
    const fragments = this.#allSplitter.split(toWellFormed(text));
    return this.#encodeFragments(
      fragments.flatMap((fragment) =>
        typeof fragment === 'string' && fragment.includes(guard)
          ? this.#plainSplitter.split(fragment.replaceAll(guard, ''))
          : fragment,
      ),
    );
  }

  tokenBytes(id: number): Uint8Array {
    const text = this.#parts.tokens[id];
    if (text === undefined || this.isControl(id)) return NO_BYTES;
    if (this.#isByteLevel) {
      const bytes = this.#addedIds.has(id) ? undefined : fromByteAlphabet(text);
      return bytes ?? encoder.encode(text);
    }
    const byte = this.#hasByteTokens ? parseByteToken(text) : undefined;
    return byte === undefined ? encoder.encode(text.replaceAll(SPACE_MARK, ' ')) : Uint8Array.of(byte);
  }

  isControl(id: number): boolean {
    return this.#parts.special.controlIds.has(id);
  }

  /** Control tokens that the vocabulary has and `added_tokens` does not list (`</s>` of some Unigram models). */
  #findUnlistedControls(): AddedToken[] {
    const { special, tokens } = this.#parts;
    return [...special.controlIds]
      .filter((id) => !this.#addedIds.has(id) && tokens[id] !== undefined)
      .map((id) => ({ id, content: tokens[id]!, special: true, lstrip: false, rstrip: false, normalized: false }));
  }

  #encodeFragments(fragments: readonly Fragment[]): number[] {
    const ids: number[] = [];
    fragments.forEach((fragment, index) => {
      if (typeof fragment === 'number') ids.push(fragment);
      else this.#encodeText(fragment, index, ids);
    });
    return ids;
  }

  #encodeText(text: string, index: number, ids: number[]): void {
    const { library, encodeWord } = this.#parts;
    for (const fragment of this.#normalizedSplitter.split(this.#normalize(text))) {
      if (typeof fragment === 'number') {
        ids.push(fragment);
        continue;
      }
      const words = library.pre_tokenizer?.pre_tokenize(fragment, { section_index: index }) ?? [fragment];
      for (const word of words) encodeWord(word, ids);
    }
  }

  #normalize(text: string): string {
    return this.#parts.library.normalizer?.normalize(text) ?? text;
  }
}

/** The library's tokenizer, without BPE merges (the slow part of loading, which is ours) and without added tokens. */
function createLibraryTokenizer(json: HubTokenizerJson, config: object): HuggingFaceTokenizer {
  const model = json.model.type === 'BPE' ? { type: 'BPE', vocab: {}, merges: [] } : json.model;
  try {
    return new HuggingFaceTokenizer(
      {
        model,
        added_tokens: [],
        normalizer: json.normalizer,
        pre_tokenizer: adaptPreTokenizer(json.preTokenizer),
        post_processor: null,
        decoder: null,
      },
      config,
    );
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new TokenglassError('model-unsupported', `Cannot read the tokenizer: ${message}; use another model`, {
      cause,
    });
  }
}
