import { numberToF16 } from '../gguf/f16.ts';
import { BLOCK_LAYOUTS, type GgmlType } from '../gguf/tensor-types.ts';
import type { SeededRandom } from './random.ts';

/**
 * Random weights, straight as blocks of their type: every bit of the payload is random (a quantiser would leave many patterns out), and the
 * scales are set so that the values have about the standard deviation asked for and a mean near 0.
 *
 * @param rowDeviations one standard deviation per row
 */
export function randomRows(
  type: GgmlType,
  rowLength: number,
  rowDeviations: readonly number[],
  random: SeededRandom,
): Uint8Array {
  const { blockSize, blockBytes } = BLOCK_LAYOUTS[type];
  const rowBytes = (rowLength / blockSize) * blockBytes;
  const words = new Uint32Array(Math.ceil((rowBytes * rowDeviations.length) / 4));
  for (let i = 0; i < words.length; i++) words[i] = random.uint32();
  const bytes = new Uint8Array(words.buffer, 0, rowBytes * rowDeviations.length);
  const view = new DataView(bytes.buffer);
  const setBlock = BLOCKS[type];
  for (const [row, deviation] of rowDeviations.entries()) {
    for (let at = row * rowBytes; at < (row + 1) * rowBytes; at += blockBytes) setBlock(view, at, deviation, random);
  }
  return bytes;
}

type SetBlock = (view: DataView, at: number, deviation: number, random: SeededRandom) => void;

/** Standard deviation of a uniform integer of so many values. */
const spread = (values: number) => Math.sqrt((values * values - 1) / 12);

/** Scales differ from block to block, as real ones do. */
const jitter = (random: SeededRandom) => 0.75 + random.uniform() / 2;

const setF16 = (view: DataView, at: number, value: number) => view.setUint16(at, numberToF16(value), true);

/** Quantiles of the standard normal, to be drawn from by 12 bits: a formula for each weight would take seconds for a large model. */
const normals = Float32Array.from({ length: 4096 }, (_, index) => probit((index + 0.5) / 4096));

const BLOCKS: Readonly<Record<GgmlType, SetBlock>> = {
  F32: (view, at, deviation) => view.setFloat32(at, deviation * normals[view.getUint32(at, true) >>> 20]!, true),
  F16: (view, at, deviation) => setF16(view, at, deviation * normals[view.getUint16(at, true) >>> 4]!),
  BF16: (view, at, deviation) => {
    single[0] = deviation * normals[view.getUint16(at, true) >>> 4]!;
    view.setUint16(at, singleBits[0]! >>> 16, true);
  },
  Q4_0: (view, at, deviation, random) => setF16(view, at, (deviation / spread(16)) * jitter(random)),
  Q4_1: (view, at, deviation, random) => setScaleAndMinimum(view, at, (deviation / spread(16)) * jitter(random), 7.5),
  Q5_0: (view, at, deviation, random) => setF16(view, at, (deviation / spread(32)) * jitter(random)),
  Q5_1: (view, at, deviation, random) => setScaleAndMinimum(view, at, (deviation / spread(32)) * jitter(random), 15.5),
  Q8_0: (view, at, deviation, random) => {
    setF16(view, at, (deviation / spread(255)) * jitter(random));
    // No quantiser writes -128, and some kernels of llama.cpp rely on that.
    for (let i = 2; i < 34; i++) if (view.getInt8(at + i) === -128) view.setInt8(at + i, -127);
  },
  Q2_K: (view, at, deviation, random) => {
    const d = (deviation / (spread(4) * 11.5)) * jitter(random);
    for (let group = 0; group < 16; group++) {
      const scale = 8 + random.integer(8);
      view.setUint8(at + group, scale | (nearby(scale, 2, 15, random) << 4));
    }
    setF16(view, at + 80, d);
    setF16(view, at + 82, d * 1.5);
  },
  Q3_K: (view, at, deviation, random) => setF16(view, at + 108, (deviation / (spread(8) * 18.5)) * jitter(random)),
  Q4_K: (view, at, deviation, random) => setKScales(view, at, deviation / spread(16), 7.5, random),
  Q5_K: (view, at, deviation, random) => setKScales(view, at, deviation / spread(32), 15.5, random),
  Q6_K: (view, at, deviation, random) => {
    setF16(view, at + 208, (deviation / (spread(64) * 96)) * jitter(random));
    for (let group = 0; group < 16; group++) {
      const scale = 64 + random.integer(64);
      view.setInt8(at + 192 + group, random.uniform() < 0.5 ? scale : -scale);
    }
  },
};

function setScaleAndMinimum(view: DataView, at: number, scale: number, middle: number): void {
  setF16(view, at, scale);
  setF16(view, at + 2, -scale * middle);
}

/** Scales 32 to 63 and minima close to them, in the 12 packed bytes of Q4_K and Q5_K; d and dmin before them. */
function setKScales(view: DataView, at: number, step: number, middle: number, random: SeededRandom): void {
  const d = (step / 47.5) * jitter(random);
  setF16(view, at, d);
  setF16(view, at + 2, d * middle);
  const scales = Array.from({ length: 8 }, () => 32 + random.integer(32));
  const minima = scales.map((scale) => nearby(scale, 5, 63, random));
  for (let group = 0; group < 4; group++) {
    const [scale, later] = [scales[group]!, scales[group + 4]!];
    const [minimum, laterMinimum] = [minima[group]!, minima[group + 4]!];
    view.setUint8(at + 4 + group, scale | ((later >> 4) << 6));
    view.setUint8(at + 8 + group, minimum | ((laterMinimum >> 4) << 6));
    view.setUint8(at + 12 + group, (later & 15) | ((laterMinimum & 15) << 4));
  }
}

function nearby(value: number, within: number, most: number, random: SeededRandom): number {
  return Math.min(most, Math.max(0, value - within + random.integer(2 * within + 1)));
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** Quantile of the standard normal to about 1 %, enough for weights (Tukey's lambda distribution at 0.135). */
function probit(p: number): number {
  return (p ** 0.135 - (1 - p) ** 0.135) / 0.1975;
}
