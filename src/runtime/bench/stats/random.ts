/** Numbers in [0, 1). */
export type Random = () => number;

/**
 * A seeded stream (sfc32 of PractRand, 32 bits a number). Streams of other names are independent: lengths do not change when arrivals
 * are drawn differently.
 * @param name what is drawn from it
 */
export function createRandom(seed: number, name: string): Random {
  let a = hash(`${name}:a`, seed);
  let b = hash(`${name}:b`, seed);
  let c = hash(`${name}:c`, seed);
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 16; round++) next(); // the first numbers still look like the seed
  return next;
}

/** FNV-1a of the text, mixed with the seed. */
function hash(text: string, seed: number): number {
  let value = 0x811c9dc5 ^ (seed >>> 0);
  for (const character of text) value = Math.imul(value ^ character.charCodeAt(0), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value ^ (value >>> 13);
}

/** Exponential with that mean. */
export const exponential = (random: Random, mean: number): number => -mean * Math.log1p(-random());

/** Standard normal (Box and Muller, 1958). */
export const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log1p(-random())) * Math.cos(2 * Math.PI * random());

/**
 * Gamma with that shape and scale (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000).
 * @throws RangeError for a shape or scale that is not above 0
 */
export function gamma(random: Random, shape: number, scale: number): number {
  if (!(shape > 0 && scale > 0))
    throw new RangeError(
      `Cannot draw from a gamma distribution of shape ${shape} and scale ${scale}: both must be above 0`,
    );
  if (shape < 1) return gamma(random, shape + 1, scale) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v <= 0) continue;
    if (Math.log1p(-random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v * scale;
  }
}
