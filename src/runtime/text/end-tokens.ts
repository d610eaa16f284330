/** Tokens that end a turn or a text, by what they are called in the vocabularies of known models. */
const END_TOKENS = [
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|flush|>',
  '<|calls|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '</s>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '<|end_of_text|>',
  '<end_of_utterance>',
  '<eos>',
  '<turn|>',
  '<|tool_response>',
  '<｜end▁of▁sentence｜>',
  '[e~[',
];

/** Marks of fill-in-the-middle that never belong into an answer: padding, repository, file separator. */
const FILL_END_TOKENS: readonly (readonly string[])[] = [
  ['<|fim_pad|>', '<fim-pad>', '<fim_pad>', '<PAD>', '[PAD]'],
  ['<|fim_repo|>', '<|repo_name|>', '<fim-repo>', '<REPO>', '<reponame>'],
  ['<|file_sep|>'],
];

/** Other marks of fill-in-the-middle; control tokens too, whatever their file says. */
const FILL_TOKENS: readonly (readonly string[])[] = [
  [
    '<|fim_prefix|>',
    '<fim-prefix>',
    '<fim_prefix>',
    '<｜fim▁begin｜>',
    '<PRE>',
    '▁<PRE>',
    '<|code_prefix|>',
    '<|prefix|>',
  ],
  [
    '<|fim_suffix|>',
    '<fim-suffix>',
    '<fim_suffix>',
    '<｜fim▁hole｜>',
    '<SUF>',
    '▁<SUF>',
    '<|code_suffix|>',
    '<|suffix|>',
  ],
  [
    '<|fim_middle|>',
    '<fim-middle>',
    '<fim_middle>',
    '<｜fim▁end｜>',
    '<MID>',
    '▁<MID>',
    '<|code_middle|>',
    '<|middle|>',
  ],
];

export interface NamedTokens {
  /** Ids at which generation stops. */
  ends: ReadonlySet<number>;
  /** Ids that are control tokens by their name. */
  controls: ReadonlySet<number>;
}

/**
 * Tokens that end generation or control the model by their names. Files of models often miss some of these in their metadata; the
 * names are those that llama.cpp goes by.
 * @param idOf the id of a token by its text; undefined if there is none
 */
export function findNamedTokens(idOf: (text: string) => number | undefined): NamedTokens {
  const idsOf = (names: readonly string[]) => names.map(idOf).filter((id) => id !== undefined);
  const firstOf = (groups: readonly (readonly string[])[]) => groups.flatMap((names) => idsOf(names).slice(0, 1));
  const fillEnds = firstOf(FILL_END_TOKENS);
  const named = idsOf(END_TOKENS);
  const ends = new Set([...named, ...fillEnds]);
  // Harmony (gpt-oss) ends messages with <|end|> and goes on with the next channel; Gemma has an </s> of HTML.
  const has = (...names: string[]) => names.every((name) => idOf(name) !== undefined);
  const drop = (name: string) => ends.delete(idOf(name) ?? -1);
  if (has('<|return|>', '<|call|>') || has('<|calls|>', '<|flush|>')) drop('<|end|>');
  if (has('<|tool_response>') || has('<eos>', '<start_of_turn>', '<end_of_turn>')) drop('</s>');
  return { ends, controls: new Set([...ends, ...firstOf(FILL_TOKENS)]) };
}
