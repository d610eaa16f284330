import type { GrammarCompiler, GrammarMatcher } from '@mlc-ai/web-xgrammar';
import { TokenglassError } from '../../../shared/errors.ts';
import type { OutputGrammar } from '../../../shared/generation.ts';
import { invalid } from '../../../shared/check.ts';
import type { CompileGrammar, GrammarState } from './grammar.ts';
import { bytesToAlphabet } from '../byte-alphabet.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { refuseKeywords } from './schema-keywords.ts';
import { loadXgrammar, type Xgrammar } from './xgrammar.ts';

/** A vocabulary in the library: `json` has no tokens with control characters. */
type Vocabulary = 'json' | 'any';

interface Loaded {
  library: Xgrammar;
  compiler: GrammarCompiler;
}

/**
 * Grammars for a vocabulary. The library and the vocabulary in it (some 0.2 s for 150 000 tokens) are made with the first grammar.
 * @param vocabSize of the logits, which may be more than the tokenizer has
 */
export function createGrammarCompiler(tokenizer: Tokenizer, vocabSize: number): CompileGrammar {
  const loading = new Map<Vocabulary, Promise<Loaded>>();
  const loaded = (vocabulary: Vocabulary): Promise<Loaded> => {
    const found = loading.get(vocabulary);
    if (found) return found;
    const started = load(tokenizer, vocabSize, vocabulary).catch((cause: unknown) => {
      loading.delete(vocabulary); // the next request may have more luck
      throw new TokenglassError('network', 'Cannot load the library for grammars; check the connection', { cause });
    });
    loading.set(vocabulary, started);
    return started;
  };
  return async (grammar) => {
    const { library, compiler } = await loaded(grammar.type === 'ebnf' ? 'any' : 'json');
    const compiled = await compile(compiler, grammar);
    const matcher = await library.GrammarMatcher.createGrammarMatcher(compiled);
    return new MatcherState(matcher, () => compiled.dispose());
  };
}

async function load(tokenizer: Tokenizer, vocabSize: number, vocabulary: Vocabulary): Promise<Loaded> {
  const library = await loadXgrammar();
  const texts = Array.from({ length: tokenizer.vocabSize }, (_, id) => {
    const bytes = tokenizer.tokenBytes(id);
    // An empty text is never allowed. xgrammar 0.1.27 lets raw control characters into strings of a bounded length, which is no JSON; outside
    // strings they are space that nobody needs. Delete when it does not.
    if (vocabulary === 'json' && bytes.some((byte) => byte < FIRST_PRINTABLE)) return '';
    // The alphabet of byte-level vocabularies can say any bytes, half characters too.
    return bytesToAlphabet(bytes);
  });
  const ends = [...tokenizer.endIds];
  const info = await library.TokenizerInfo.createTokenizerInfo(texts, 'byte_level', false, vocabSize, ends);
  return { library, compiler: await library.GrammarCompiler.createGrammarCompiler(info, false) };
}

const FIRST_PRINTABLE = 0x20;

/** One space at the most between what JSON is made of: more would be tokens that a weak model can go on with for ever. */
const MAX_WHITESPACE = 1;

async function compile(
  compiler: GrammarCompiler,
  grammar: OutputGrammar,
): ReturnType<GrammarCompiler['compileGrammar']> {
  const schema = grammar.type === 'json-schema' ? grammar.schema : ANY_JSON;
  if (grammar.type === 'json-schema') refuseKeywords(schema);
  try {
    if (grammar.type === 'ebnf') return await compiler.compileGrammar(grammar.grammar);
    const strict = grammar.type === 'json-schema';
    return await compiler.compileJSONSchema(JSON.stringify(schema), true, undefined, undefined, strict, MAX_WHITESPACE);
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : 'it does not parse';
    throw invalid('grammar', `is refused (${said.slice(0, 300)})`, 'correct it');
  }
}

/** OpenAI's json_object is an object. */
const ANY_JSON = { type: 'object' };

class MatcherState implements GrammarState {
  readonly #matcher: GrammarMatcher;
  readonly #release: () => void;
  #isDisposed = false;

  constructor(matcher: GrammarMatcher, release: () => void) {
    this.#matcher = matcher;
    this.#release = release;
  }

  get isDone(): boolean {
    return this.#isDisposed || this.#matcher.isTerminated();
  }

  async mask(): Promise<Uint32Array<ArrayBuffer>> {
    return new Uint32Array(await this.#matcher.getNextTokenBitmask());
  }

  accept(id: number): boolean {
    return this.#matcher.acceptToken(id);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#matcher.dispose();
    this.#release();
  }
}
