import { listParts, type Json } from './hub-files.ts';

/** The pattern of GPT-2, in the syntax of `tokenizer.json`. */
const GPT2_PATTERN = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/**
 * A pre-tokenizer of a `tokenizer.json`, rewritten (as a copy) where version 0.2.0 of `@huggingface/tokenizers` reads it in another
 * way than the original library in Rust does. Delete a case when the library does it.
 */
export function adaptPreTokenizer(preTokenizer: unknown): unknown {
  const adapted: unknown = structuredClone(preTokenizer);
  for (const part of listParts(adapted)) Object.assign(part, adaptPart(part));
  return adapted;
}

function adaptPart(part: Json): Json {
  switch (part['type']) {
    case 'Metaspace':
      // Older files say `add_prefix_space` for what is `prepend_scheme` today; the library knows the latter only.
      if (part['add_prefix_space'] === false && part['prepend_scheme'] === undefined)
        return { prepend_scheme: 'never' };
      return {};
    case 'ByteLevel': {
      // Its own pattern has the \s of JavaScript, which takes U+FEFF for white space and U+0085 not; in a Split it is translated.
      if (part['use_regex'] === false || part['add_prefix_space'] === true) return {};
      const split = { type: 'Split', pattern: { Regex: GPT2_PATTERN }, behavior: 'Isolated', invert: false };
      return { type: 'Sequence', pretokenizers: [split, { ...part, use_regex: false }] };
    }
    default:
      return {};
  }
}
