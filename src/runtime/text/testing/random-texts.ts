/** A seeded generator (mulberry32): the same texts on every machine. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const WORDS = (
  'the quick brown fox jumps over a lazy dog model token prefill decode cache roofline TTFT KV GPU WebGPU latency percentile ' +
  "it's I'll they're we've he'd I'm don't DON'T IT'S naïve café façade Übergröße señor Ελληνικά привет мир здравствуйте שלום " +
  'مرحبا नमस्ते สวัสดี 안녕하세요 한국어 日本語 テキスト 你好世界 中文 字符 ①② ½ Ⅻ ٣٤٥ ñ e\u0301 o\u0308 ſ K İ ǅ'
).split(' ');
const EMOJI = ['😀', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇰🇷', '👍🏽', '❤️', '✨', '🤖', '🧑🏿‍🚀', '☃', '©', '™'];
const PUNCTUATION = [
  ...Array.from('!?.,;:\'"()[]{}<>/\\|@#$%^&*_+-=~`'),
  '…',
  '—',
  '„',
  '。',
  '、',
  '¿',
  '«',
  '…',
  '€',
  '→',
  '∑',
  '▁',
];
const SPACES = [
  ' ',
  '  ',
  '   ',
  '\t',
  '\n',
  '\n\n',
  '\r\n',
  ' \n',
  '\u00a0',
  '\u3000',
  '\u2028',
  '\u0085',
  '\ufeff',
  '\u200b',
  '      ',
  '\v\f',
];
const CODE = [
  'for (let i = 0; i < n; i++) {\n\tsum += a[i];\n}',
  'def f(x):\n    return x**2  # square\n',
  '{"a": [1, 2.5e-3, null], "b": "c\\n"}',
  '<div class="x">&nbsp;</div>',
  'SELECT * FROM t WHERE id >= 10;',
  'https://example.org/a?b=c&d=%20#e',
  '#include <stdio.h>\r\nint main(void) { return 0; }',
];

/**
 * Texts that are hard for a tokenizer: emoji, many scripts, code, runs of white space, `! ! !`, byte garbage, numbers, accents, and
 * the control tokens given, whole and torn. Some are empty of meaning, none is empty.
 */
export function createRandomTexts(count: number, seed: number, controlTexts: readonly string[]): string[] {
  const random = createRandom(seed);
  const below = (n: number) => Math.floor(random() * n);
  const pick = <Item>(items: readonly Item[]) => items[below(items.length)]!;
  const repeat = (n: number, make: () => string) => Array.from({ length: n }, make).join('');
  const garbage = () =>
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from({ length: 1 + below(12) }, () => below(256)));
  const anyChar = () =>
    String.fromCodePoint(
      pick([below(0x80), below(0x800), below(0xd800), 0xe000 + below(0x1000), 0x10000 + below(0x20000)]),
    );
  const control = () => {
    const text = pick(controlTexts.length > 0 ? controlTexts : ['<|none|>']);
    return random() < 0.6 ? text : text.slice(below(2), text.length - below(2));
  };
  const pieces: (() => string)[] = [
    () => pick(WORDS),
    () => ` ${pick(WORDS)}`,
    () => ` ${pick(WORDS)}`,
    () => pick(WORDS).toUpperCase(),
    () => pick(EMOJI),
    () => repeat(1 + below(5), () => pick(PUNCTUATION)),
    () => repeat(1 + below(4), () => pick(SPACES)),
    () => ' '.repeat(1 + below(40)),
    () => '! '.repeat(1 + below(6)),
    () => String(below(10 ** (1 + below(9)))),
    () => `${below(1000)}.${below(1000)}`,
    () => repeat(1 + below(20), () => pick(['a', 'b', 'A', 'é', '가', '中'])),
    () => pick(CODE),
    garbage,
    anyChar,
    control,
  ];
  return Array.from({ length: count }, () => repeat(1 + below(14), () => pick(pieces)()) || 'x');
}
