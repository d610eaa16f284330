import { expect } from 'chai';
import { SeededRandom } from '../testing/random.ts';
import { dequantize } from './dequantize.ts';
import { f16ToNumber, numberToF16 } from './f16.ts';
import { BLOCK_LAYOUTS, ggmlByteLength, ggmlTypeById, ggmlTypeLabel, type GgmlType } from './tensor-types.ts';

const half = (value: number) => [numberToF16(value) & 255, numberToF16(value) >> 8];

describe('dequantize', () => {
  // Blocks written byte by byte after the structs of ggml-common.h.
  it('dequantize: Q4_0 is d * (q - 8), low nibbles first', () => {
    const values = dequantize('Q4_0', Uint8Array.of(...half(0.5), 0xf0, 0x18, ...new Array<number>(14).fill(0x88)));
    expect([...values.slice(0, 3)]).to.deep.equal([-4, 0, 0]);
    expect([...values.slice(16, 19)]).to.deep.equal([3.5, -3.5, 0]);
  });

  it('dequantize: Q4_1 is d * q + m', () => {
    const values = dequantize('Q4_1', Uint8Array.of(...half(2), ...half(-3), 0xf1, ...new Array<number>(15).fill(0)));
    expect([values[0], values[1], values[16], values[17]]).to.deep.equal([-1, -3, 27, -3]);
  });

  it('dequantize: Q5_0 and Q5_1 take the fifth bit of element i from bit i', () => {
    const bits = [0x01, 0, 0x02, 0x80];
    const nibbles = [0x21, 0x03, ...new Array<number>(14).fill(0)];
    const q50 = dequantize('Q5_0', Uint8Array.of(...half(1), ...bits, ...nibbles));
    expect([q50[0], q50[1], q50[16], q50[17], q50[31]]).to.deep.equal([1, -13, -14, 0, 0]);
    const q51 = dequantize('Q5_1', Uint8Array.of(...half(1), ...half(10), ...bits, ...nibbles));
    expect([q51[0], q51[1], q51[16], q51[17], q51[31]]).to.deep.equal([27, 13, 12, 26, 26]);
  });

  it('dequantize: Q8_0 is d times a signed byte', () => {
    const values = dequantize('Q8_0', Uint8Array.of(...half(0.25), 127, 129, 255, ...new Array<number>(29).fill(0)));
    expect([...values.slice(0, 4)]).to.deep.equal([31.75, -31.75, -0.25, 0]);
  });

  it('dequantize: F32, F16 and BF16 at any byte offset, subnormals and signs kept', () => {
    const bytes = new Uint8Array(9);
    bytes.set([0, 0, 0x80, 0xbf], 1);
    expect([...dequantize('F32', bytes.subarray(1, 5))]).to.deep.equal([-1]);
    expect([...dequantize('F16', Uint8Array.of(0x01, 0x80, 0xff, 0x7b))]).to.deep.equal([-(2 ** -24), 65_504]);
    expect([...dequantize('BF16', Uint8Array.of(0x80, 0xbf, 0x49, 0x40))]).to.deep.equal([-1, 3.140625]);
  });

  for (const type of ['Q2_K', 'Q3_K', 'Q4_K', 'Q5_K', 'Q6_K'] as const) {
    it(`dequantize: ${type} undoes the packing of ggml's quantiser`, () => {
      const random = new SeededRandom(11);
      for (let round = 0; round < 20; round++) {
        const { bytes, values } = PACK[type](random);
        expect(bytes).to.have.length(BLOCK_LAYOUTS[type].blockBytes);
        expect([...dequantize(type, Uint8Array.from(bytes))]).to.deep.equal(values.map(Math.fround));
      }
    });
  }

  it('dequantize: writes into what it is given, and refuses part blocks and wrong sizes', () => {
    const out = new Float32Array(64);
    const bytes = new Uint8Array(68).fill(1);
    expect(dequantize('Q8_0', bytes, out)).to.equal(out);
    expect(out[63]).to.equal(f16ToNumber(0x0101));
    expect(() => dequantize('Q8_0', bytes.subarray(1))).to.throw(RangeError, /whole blocks/);
    expect(() => dequantize('Q8_0', bytes, new Float32Array(63))).to.throw(RangeError, /into 63/);
  });
});

interface Packed {
  bytes: number[];
  values: number[];
}

const many = (count: number, make: (index: number) => number) => Array.from({ length: count }, (_, index) => make(index));

/** Packing as in quantize_row_*_ref of ggml-quants.c, from random integers of the right ranges. */
const PACK: Record<'Q2_K' | 'Q3_K' | 'Q4_K' | 'Q5_K' | 'Q6_K', (random: SeededRandom) => Packed> = {
  Q2_K: (random) => {
    const [scales, minima] = [many(16, () => random.integer(16)), many(16, () => random.integer(16))];
    const quants = many(256, () => random.integer(4));
    const packed = many(64, () => 0);
    for (let j = 0; j < 256; j += 128) {
      for (let l = 0; l < 32; l++) {
        packed[j / 4 + l] =
          quants[j + l]! | (quants[j + l + 32]! << 2) | (quants[j + l + 64]! << 4) | (quants[j + l + 96]! << 6);
      }
    }
    const bytes = [...scales.map((scale, i) => scale | (minima[i]! << 4)), ...packed, ...half(0.5), ...half(0.25)];
    return { bytes, values: quants.map((q, i) => 0.5 * scales[i >> 4]! * q - 0.25 * minima[i >> 4]!) };
  },
  Q3_K: (random) => {
    const scales = many(16, () => random.integer(64));
    const quants = many(256, () => random.integer(8));
    const packedScales = many(12, () => 0);
    for (let j = 0; j < 16; j++) {
      if (j < 8) packedScales[j]! |= scales[j]! & 15;
      else packedScales[j - 8]! |= (scales[j]! & 15) << 4;
      packedScales[(j % 4) + 8]! |= (scales[j]! >> 4) << (2 * Math.floor(j / 4));
    }
    const mask = many(32, () => 0);
    const low = quants.map((q, j) => {
      if (q > 3) mask[j % 32]! |= 1 << Math.floor(j / 32);
      return q & 3;
    });
    const packed = many(64, () => 0);
    for (let j = 0; j < 256; j += 128) {
      for (let l = 0; l < 32; l++) {
        packed[j / 4 + l] = low[j + l]! | (low[j + l + 32]! << 2) | (low[j + l + 64]! << 4) | (low[j + l + 96]! << 6);
      }
    }
    const bytes = [...mask, ...packed, ...packedScales, ...half(0.125)];
    return { bytes, values: quants.map((q, i) => 0.125 * (scales[i >> 4]! - 32) * (q - 4)) };
  },
  Q4_K: (random) => {
    const { scales, minima, packed } = packKScales(random);
    const quants = many(256, () => random.integer(16));
    const nibbles: number[] = [];
    for (let j = 0; j < 256; j += 64) for (let l = 0; l < 32; l++) nibbles.push(quants[j + l]! | (quants[j + l + 32]! << 4));
    const bytes = [...half(0.5), ...half(0.25), ...packed, ...nibbles];
    return { bytes, values: quants.map((q, i) => 0.5 * scales[i >> 5]! * q - 0.25 * minima[i >> 5]!) };
  },
  Q5_K: (random) => {
    const { scales, minima, packed } = packKScales(random);
    const quants = many(256, () => random.integer(32));
    const high = many(32, () => 0);
    const nibbles: number[] = [];
    for (let n = 0; n < 256; n += 64) {
      for (let j = 0; j < 32; j++) {
        const [first, second] = [quants[n + j]!, quants[n + j + 32]!];
        if (first > 15) high[j]! |= 1 << (n / 32);
        if (second > 15) high[j]! |= 2 << (n / 32);
        nibbles.push((first & 15) | ((second & 15) << 4));
      }
    }
    const bytes = [...half(0.5), ...half(0.25), ...packed, ...high, ...nibbles];
    return { bytes, values: quants.map((q, i) => 0.5 * scales[i >> 5]! * q - 0.25 * minima[i >> 5]!) };
  },
  Q6_K: (random) => {
    const scales = many(16, () => random.integer(256) - 128);
    const quants = many(256, () => random.integer(64));
    const [low, high]: [number[], number[]] = [[], []];
    for (let j = 0; j < 256; j += 128) {
      const q = (offset: number, l: number) => quants[j + offset + l]!;
      for (let l = 0; l < 32; l++) {
        low[j / 2 + l] = (q(0, l) & 15) | ((q(64, l) & 15) << 4);
        low[j / 2 + l + 32] = (q(32, l) & 15) | ((q(96, l) & 15) << 4);
        high[j / 4 + l] = (q(0, l) >> 4) | ((q(32, l) >> 4) << 2) | ((q(64, l) >> 4) << 4) | ((q(96, l) >> 4) << 6);
      }
    }
    const bytes = [...low, ...high, ...scales.map((scale) => scale & 255), ...half(0.125)];
    return { bytes, values: quants.map((q, i) => 0.125 * scales[i >> 4]! * (q - 32)) };
  },
};

function packKScales(random: SeededRandom): { scales: number[]; minima: number[]; packed: number[] } {
  const [scales, minima] = [many(8, () => random.integer(64)), many(8, () => random.integer(64))];
  const packed = many(12, () => 0);
  for (let j = 0; j < 8; j++) {
    if (j < 4) {
      packed[j]! |= scales[j]!;
      packed[j + 4]! |= minima[j]!;
    } else {
      packed[j + 4] = (scales[j]! & 15) | ((minima[j]! & 15) << 4);
      packed[j - 4]! |= (scales[j]! >> 4) << 6;
      packed[j]! |= (minima[j]! >> 4) << 6;
    }
  }
  return { scales, minima, packed };
}

describe('numberToF16', () => {
  it('numberToF16: gives every half-precision number back, and rounds ties between two to the even one', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = f16ToNumber(bits);
      if (!Number.isNaN(value)) expect(numberToF16(value)).to.equal(bits);
    }
    for (let bits = 0; bits < 0x7bff; bits++) {
      const middle = (f16ToNumber(bits) + f16ToNumber(bits + 1)) / 2;
      expect(numberToF16(middle)).to.equal(bits % 2 === 0 ? bits : bits + 1);
    }
    expect([numberToF16(65_519.99), numberToF16(65_520), numberToF16(-1e9)]).to.deep.equal([0x7bff, 0x7c00, 0xfc00]);
    expect(f16ToNumber(numberToF16(NaN))).to.be.NaN;
  });
});

describe('ggmlTypeById', () => {
  it('ggmlTypeById: knows each layout by its number, and labels say what is not read', () => {
    for (const [type, { id, blockSize, blockBytes }] of Object.entries(BLOCK_LAYOUTS)) {
      expect(ggmlTypeById(id)).to.equal(type);
      expect(ggmlByteLength(type as GgmlType, blockSize * 3)).to.equal(blockBytes * 3);
    }
    expect(ggmlTypeById(16)).to.equal(undefined);
    expect([ggmlTypeLabel(16), ggmlTypeLabel(2), ggmlTypeLabel(77)]).to.deep.equal(['IQ2_XXS', 'Q4_0', 'number 77']);
    expect(() => ggmlByteLength('Q4_K', 128)).to.throw(RangeError);
  });
});
