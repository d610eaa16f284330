import { SeededRandom } from '../../models/testing/random.ts';

export const KILLED_SCOPE = 'killed';
export const KILLED_BLOCKS = 40;
export const KILLED_BLOCK_BYTES = 1 << 18;

/** Tokens of a chain that a worker stores while it is killed again and again. */
export const killedTokens: readonly number[] = Array.from({ length: KILLED_BLOCKS * 32 }, (_, index) => index);

export function killedBlock(index: number): Uint8Array<ArrayBuffer> {
  const random = new SeededRandom(index);
  return new Uint8Array(Uint32Array.from({ length: KILLED_BLOCK_BYTES / 4 }, () => random.uint32()).buffer);
}
