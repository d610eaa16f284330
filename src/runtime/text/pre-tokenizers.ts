import { TokenglassError } from '../../shared/errors.ts';

/** How a byte-level BPE model of a GGUF file cuts text into words before merging (`tokenizer.ggml.pre`). */
export interface PreTokenizer {
  /** Each cuts what the one before left: a match is a word, and so is what lies between two matches. */
  patterns: readonly RegExp[];
  /** A word that is a token is taken as it is, without merging. */
  ignoreMerges: boolean;
  /** Puts a BOS first unless the file says otherwise. */
  addBos: boolean;
}

// White space is \p{White_Space}: \s of JavaScript has U+FEFF and lacks U+0085. Contractions spell out both cases, because /i with
// /u would let U+017F (long s) pass for an s.
const CONTRACTION = "'s|'t|'re|'ve|'m|'ll|'d";
const ANY_CASE_CONTRACTION = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";
const SPACE = '\\p{White_Space}';
const OTHER = `[^${SPACE}\\p{L}\\p{N}]`;
const SPACES = `${SPACE}+(?!\\P{White_Space})|${SPACE}+`;

const GPT2 = `${CONTRACTION}| ?\\p{L}+| ?\\p{N}+| ?${OTHER}+|${SPACES}`;

/** The GPT-4 family: letters with one mark before them, digits in groups, line ends with the symbols before them. */
const gpt4 = (digits: string, contraction = `${ANY_CASE_CONTRACTION}|`) =>
  `${contraction}[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?${OTHER}+[\\r\\n]*|${SPACE}*[\\r\\n]+|${SPACES}`;

/** The GPT-4o family also cuts before a capital within a word. */
const gpt4o = (digits: string, contraction: string) => {
  const upper = '(?:(?=\\p{L})[^a-z])';
  const lower = '(?:(?=\\p{L})[^A-Z])';
  const word = (letters: string) => `[^\\r\\n\\p{L}\\p{N}]?${letters}${contraction}`;
  return [
    word(`${upper}*${lower}+`),
    word(`${upper}+${lower}*`),
    digits,
    ` ?${OTHER}+[\\r\\n/]*`,
    `${SPACE}*[\\r\\n]+`,
    SPACES,
  ].join('|');
};

interface Family {
  names: readonly string[];
  patterns: readonly string[];
  ignoreMerges?: boolean;
  addBos?: boolean;
}

/** Patterns by name, as llama.cpp has them. */
const FAMILIES: readonly Family[] = [
  {
    names: ['default', ''],
    patterns: ['[\\p{P}$+<=>^~|]+', GPT2, '\\p{N}+', '[0-9][0-9][0-9]'],
  },
  {
    names: [
      'gpt-2',
      'phi-2',
      'gigachat',
      'a.x-4.0',
      'mellum',
      'exaone4',
      'mpt',
      'olmo',
      'jais',
      'trillion',
      'granite-docling',
    ],
    patterns: [GPT2],
  },
  {
    names: ['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b', 'mellum2'],
    patterns: ['\\p{N}', GPT2],
  },
  { names: ['falcon'], patterns: ['[\\p{P}$+<=>^~|`]+', GPT2, '[0-9][0-9][0-9]'] },
  {
    names: ['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'falcon-h1', 'pixtral', 'midm-2.0', 'lfm2'],
    patterns: [gpt4('\\p{N}{1,3}')],
    ignoreMerges: true,
    addBos: true,
  },
  { names: ['dbrx', 'smaug-bpe', 'glm4', 'chatglm-bpe'], patterns: [gpt4('\\p{N}{1,3}')] },
  {
    names: ['qwen2', 'deepseek-r1-qwen', 'kormo', 'megrez', 'stablelm2', 'hunyuan', 'solar-open', 'grok-2'],
    patterns: [gpt4('\\p{N}')],
  },
  {
    names: ['qwen35'],
    patterns: [
      `${ANY_CASE_CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^${SPACE}\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${SPACE}*[\\r\\n]+|${SPACES}`,
    ],
  },
  {
    names: ['tekken'],
    patterns: [gpt4o('\\p{N}', '')],
    ignoreMerges: true,
    addBos: true,
  },
  {
    names: ['gpt-4o', 'llama4', 'kanana2', 'talkie', 'minimax-m2'],
    patterns: [gpt4o('\\p{N}{1,3}', `(?:${ANY_CASE_CONTRACTION})?`)],
  },
  {
    names: ['deepseek-v3', 'hunyuan-dense', 'joyai-llm'],
    patterns: [
      '\\p{N}{1,3}',
      '[一-龥\\u3040-ゟ゠-ヿ]+',
      `[!-\\/:-@\\[-\`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|${SPACE}*[\\r\\n]+|${SPACES}`,
    ],
  },
];

/**
 * The pre-tokenizer of that name.
 * @throws TokenglassError `model-unsupported` for one that is not known: guessing would give the model other tokens than it learnt
 */
export function findPreTokenizer(name: string): PreTokenizer {
  const family = FAMILIES.find(({ names }) => names.includes(name));
  if (family === undefined) {
    throw new TokenglassError(
      'model-unsupported',
      `Cannot read the tokenizer: the pre-tokenizer "${name}" is not known; use another conversion of the model`,
      { details: { preTokenizer: name } },
    );
  }
  return {
    patterns: family.patterns.map((pattern) => new RegExp(pattern, 'gu')),
    ignoreMerges: family.ignoreMerges ?? false,
    addBos: family.addBos ?? false,
  };
}

/** Cuts a text into words; joined they are the text. */
export function splitWords(text: string, patterns: readonly RegExp[]): string[] {
  let words = [text];
  for (const pattern of patterns) words = words.flatMap((word) => splitByMatches(word, pattern));
  return words;
}

function splitByMatches(text: string, pattern: RegExp): string[] {
  const words: string[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) words.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    words.push(match[0]);
  }
  if (end < text.length) words.push(text.slice(end));
  return words;
}
