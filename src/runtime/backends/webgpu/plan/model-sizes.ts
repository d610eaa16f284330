import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import { KV_BLOCK } from '../kernels/attention/attention.ts';

/** Rows of f32 between which activations lie. Multiples of 32, so that whole units of every format can be read. */
export interface ModelSizes {
  xStride: number;
  qkvStride: number;
  attnStride: number;
  ffnStride: number;
  logitsStride: number;
  qRows: number;
  kvRows: number;
  /** Bytes of one KV block of one layer, keys or values alone. */
  kvHalfBlockBytes: number;
  /** Bytes of KV of one token, all layers. */
  kvBytesPerToken: number;
}

export function modelSizes(config: ModelConfig): ModelSizes {
  const align = (n: number) => Math.ceil(n / 32) * 32;
  const qRows = config.heads * config.headDim;
  const kvRows = config.kvHeads * config.headDim;
  return {
    xStride: align(config.hiddenSize),
    qkvStride: align(qRows + 2 * kvRows),
    attnStride: align(qRows),
    ffnStride: align(config.ffnSize),
    logitsStride: align(config.vocabSize),
    qRows,
    kvRows,
    kvHalfBlockBytes: kvRows * KV_BLOCK * 2,
    kvBytesPerToken: config.layers.length * kvRows * 4,
  };
}
