const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);

/** The value of a half-precision number given by its 16 bits (IEEE 754 binary16). */
export function f16ToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The 16 bits of the half-precision number nearest to `value`, ties to even; Infinity beyond 65,504. */
export function numberToF16(value: number): number {
  float[0] = value;
  const single = bits[0]!;
  const sign = (single >>> 16) & 0x8000;
  const magnitude = single & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: units of 2^-24, rounded half to even.
    const units = Math.abs(float[0]) * 2 ** 24;
    const floor = Math.floor(units);
    const rest = units - floor;
    return sign | (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor);
  }
  // Rebias the exponent (127 to 15) and round the 13 dropped bits half to even; a carry runs into the exponent as it should.
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}

/** Every half-precision value by its bits: one look-up where a conversion would take a dozen operations. 256 KiB, made on first use. */
export function f16Table(): Float32Array {
  table ??= Float32Array.from({ length: 65_536 }, (_, half) => f16ToNumber(half));
  return table;
}
let table: Float32Array | undefined;
