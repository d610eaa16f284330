/** Text to token ids and back to bytes. Implementations: Hugging Face tokenizer.json and GGUF metadata. */
export interface Tokenizer {
  readonly vocabSize: number;
  /** Put first in every prompt when `addBos`; absent when the model has none. */
  readonly bosId?: number;
  readonly addBos: boolean;
  /** Ids that end a turn (eos, eot, eom): generation stops at any of them. */
  readonly endIds: readonly number[];

  /**
   * Token ids of `text`, without BOS or EOS.
   * @param parseControl true: control tokens written out in the text (`<|end|>`) become their ids (text made by a chat template);
   *   false: they stay plain text (text of a user). @default false
   */
  encode(text: string, parseControl?: boolean): number[];

  /**
   * Like `encode(text, true)`, but a `guard` character keeps control tokens that it interrupts plain text, and is itself left out:
   * what `encodeChat` marks the words of users with. Absent: control tokens in messages cannot be told from those of the template.
   * @param guard one UTF-16 unit that occurs nowhere else in `text`
   */
  encodeGuarded?(text: string, guard: string): number[];

  /** Texts of the control tokens that `encode(text, true)` knows. Needed with `encodeGuarded`. */
  readonly controlTexts?: readonly string[];

  /** The bytes that the token stands for in running text; empty for control tokens. A fresh view that must not be changed. */
  tokenBytes(id: number): Uint8Array;

  /** Control tokens (BOS, turn markers, ...) are never shown. */
  isControl(id: number): boolean;

  /** True if decoding drops one space at the very start of the text (SentencePiece with a dummy prefix). */
  readonly stripsLeadingSpace: boolean;
}
