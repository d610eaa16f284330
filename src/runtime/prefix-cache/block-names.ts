import { KV_BLOCK_TOKENS } from '../backends/backend.ts';
import type { BlockHash } from './hash.ts';

/** A block by its content. */
export interface BlockKey {
  /** hash(model and format, name of the block before, token ids) */
  readonly name: string;
  /** Its {@link KV_BLOCK_TOKENS} token ids: compared on a hit, as names can collide. */
  readonly ids: Uint32Array<ArrayBuffer>;
}

/**
 * Names the whole blocks of a token sequence.
 * @param scope model, precision and layout: whatever else the KV depends on
 */
export function nameBlocks(scope: string, tokens: readonly number[], hash: BlockHash): BlockKey[] {
  const keys: BlockKey[] = [];
  let previous = hash(wordsOf(scope));
  for (let start = 0; start + KV_BLOCK_TOKENS <= tokens.length; start += KV_BLOCK_TOKENS) {
    const ids = Uint32Array.from(tokens.slice(start, start + KV_BLOCK_TOKENS));
    const before = wordsOf(previous);
    const words = new Uint32Array(before.length + ids.length);
    words.set(before);
    words.set(ids, before.length);
    previous = hash(words);
    keys.push({ name: previous, ids });
  }
  return keys;
}

export function sameIds(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** A text as words to hash. */
export const wordsOf = (text: string): Uint32Array => Uint32Array.from(text, (character) => character.codePointAt(0)!);
