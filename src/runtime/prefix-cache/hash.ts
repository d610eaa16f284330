/** Maps words to a name, which should differ for different words; a test may give one that hardly does. */
export type BlockHash = (words: Uint32Array) => string;

/** Odd constants of good avalanche (xxHash), one a lane. */
const PRIMES = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f] as const;

/**
 * 128 bits in hex: four lanes over the words. Not made against people who look for collisions: those only cost time, because ids are
 * compared on every hit.
 */
export const hashWords: BlockHash = (words) => {
  let text = '';
  for (const [lane, prime] of PRIMES.entries()) {
    let hash = prime ^ words.length;
    for (const word of words) {
      const mixed = Math.imul(hash ^ word, PRIMES[(lane + 1) % 4]!);
      hash = mixed ^ (mixed >>> 15);
    }
    text += finish(hash).toString(16).padStart(8, '0');
  }
  return text;
};

/**
 * A 32-bit checksum of bytes, four at a time. Each step is invertible in both the state and the word, so that a change within any one word
 * always changes the result; a change of length does too, but for one chance in 2^32.
 */
export function checksum(bytes: Uint8Array): number {
  const whole = bytes.byteLength >>> 2;
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, whole);
  let hash = PRIMES[0] ^ bytes.byteLength;
  for (let index = 0; index < whole; index++) {
    const mixed = Math.imul(hash ^ words[index]!, PRIMES[1]);
    hash = mixed ^ (mixed >>> 15);
  }
  for (let index = whole * 4; index < aligned.byteLength; index++) {
    const mixed = Math.imul(hash ^ aligned[index]!, PRIMES[2]);
    hash = mixed ^ (mixed >>> 13);
  }
  return finish(hash);
}

function finish(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
