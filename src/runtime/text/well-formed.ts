const LONE_SURROGATE = /\p{Surrogate}/gu;

/** The text with each lone surrogate replaced by U+FFFD, as `TextEncoder` does. */
export function toWellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, '\uFFFD');
}
