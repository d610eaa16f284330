import { BLOCK_LAYOUTS, type GgmlType } from '../gguf/tensor-types.ts';
import type { TensorSpec } from './gguf-writer.ts';
import { SeededRandom } from './random.ts';
import { randomRows } from './random-weights.ts';
import type { SyntheticModel } from './synthetic-model.ts';

/**
 * Rows of the output differ in size by e to a standard normal, so that the best token stands out; but at most by e to this, or exp(logit)
 * would overflow in f32, which llama.cpp's binding computes.
 */
const WILDEST = 2;

export interface MatrixOptions {
  /** @default that of the model */
  type?: GgmlType;
  /** Rows differ in size. @default false */
  wildRows?: boolean;
  /** Standard deviation of the outputs for inputs of unit size. @default 1 */
  gain?: number;
  /** As many matrices in one tensor. @default one matrix, of two dimensions */
  count?: number;
}

/** Bytes made at a time. */
const PIECE_BYTES = 2 ** 21;

/** Makes the tensors of a synthetic model: random values of given size. */
export class TensorMaker {
  #model: Pick<SyntheticModel, 'quantization' | 'seed'>;

  constructor(model: Pick<SyntheticModel, 'quantization' | 'seed'>) {
    this.#model = model;
  }

  matrix(
    name: string,
    inputs: number,
    rows: number,
    { type, wildRows = false, gain = 1, count }: MatrixOptions = {},
  ): TensorSpec {
    const wanted = this.#model.quantization === 'Q4_K_M' ? 'Q4_K' : this.#model.quantization;
    const fitting = fittingType(type ?? wanted, inputs);
    const { blockSize, blockBytes } = BLOCK_LAYOUTS[fitting];
    const piece = Math.max(1, Math.floor(PIECE_BYTES / ((inputs / blockSize) * blockBytes)));
    const deviation = gain / Math.sqrt(inputs);
    const random = () => this.#random(name);
    const all = rows * (count ?? 1);
    return {
      name: `${name}.weight`,
      shape: [inputs, rows, ...(count === undefined ? [] : [count])],
      type: fitting,
      *chunks() {
        const source = random();
        for (let row = 0; row < all; row += piece) {
          const count = Math.min(piece, all - row);
          const deviations = Array.from({ length: count }, () => deviation * (wildRows ? Math.exp(Math.min(WILDEST, source.normal())) : 1));
          yield randomRows(fitting, inputs, deviations, source);
        }
      },
    };
  }

  norm(name: string, size: number, mean = 1): TensorSpec {
    return this.#vector(`${name}.weight`, size, (random) => mean * (1 + 0.1 * random.normal()));
  }

  bias(name: string, size: number): TensorSpec {
    return this.#vector(`${name}.bias`, size, (random) => 0.3 * random.normal());
  }

  /** Any numbers, each by a formula. */
  values(name: string, shape: readonly number[], value: (random: SeededRandom, index: number) => number): TensorSpec {
    return { ...this.#vector(name, shape.reduce((product, size) => product * size, 1), value), shape };
  }

  factors(name: string, size: number): TensorSpec {
    return this.#vector(`${name}.weight`, size, (random) => 1 + 3 * random.uniform());
  }

  #vector(name: string, size: number, value: (random: SeededRandom, index: number) => number): TensorSpec {
    const chunks = () => {
      const random = this.#random(name);
      return [new Uint8Array(Float32Array.from({ length: size }, (_, index) => value(random, index)).buffer)];
    };
    return { name, shape: [size], type: 'F32', chunks };
  }

  /** Each tensor has its own numbers, whatever else there is in the file. */
  #random(name: string): SeededRandom {
    let hash = this.#model.seed ?? 1;
    for (const character of name) hash = Math.imul(hash, 31) + character.codePointAt(0)!;
    return new SeededRandom(hash | 0);
  }
}

const FALLBACKS: Partial<Record<GgmlType, GgmlType>> = { Q2_K: 'Q4_0', Q3_K: 'Q4_0', Q4_K: 'Q5_0', Q5_K: 'Q5_1', Q6_K: 'Q8_0' };

function fittingType(type: GgmlType, rowLength: number): GgmlType {
  if (rowLength % BLOCK_LAYOUTS[type].blockSize === 0) return type;
  const fallback = FALLBACKS[type];
  return fallback !== undefined && rowLength % 32 === 0 ? fallback : 'F16';
}
