import type { ModelReader } from '../../models/architectures/model-reader.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import type { Activation, Block, BlockNeeds, BranchConfig, BranchWeights } from '../block.ts';

/**
 * Per-layer embedding (Gemma 3n, Gemma 4): output(activation(gate(residual)) * own), where `own` are the values that the token has for this layer: from a
 * table of its own, and projected from its embedding.
 */
export interface LayerEmbeddingConfig {
  kind: 'layer-embedding';
  branch: BranchConfig;
  /** Values of a token for a layer. */
  width: number;
  /** Where those of this layer begin. */
  from: number;
  activation: Activation;
}

export interface LayerEmbeddingWeights<Weight> extends BranchWeights<Weight> {
  /** `[hidden, width]` */
  gate: Weight;
  /** `[width, hidden]` */
  output: Weight;
}

/** Reads what mixes a layer's embedding in. @throws TokenglassError `model-invalid`; names the tensor */
export function readLayerEmbedding(
  reader: ModelReader,
  layer: number,
  width: number,
): Block<GgufTensorInfo, 'layer-embedding'> {
  const { hiddenSize } = reader;
  const name = (rest: string) => `blk.${layer}.${rest}.weight`;
  const outputScale = reader.has(name('layer_output_scale'));
  const branch: BranchConfig = { norm: false, postNorm: true, scale: 1, ...(outputScale && { outputScale }) };
  return {
    kind: 'layer-embedding',
    config: { kind: 'layer-embedding', branch, width, from: layer * width, activation: 'gelu-tanh' },
    weights: {
      gate: reader.matrix(name('inp_gate'), hiddenSize, width),
      output: reader.matrix(name('proj'), width, hiddenSize),
      postNorm: reader.vector(name('post_norm'), hiddenSize),
      ...(outputScale && { outputScale: reader.vector(name('layer_output_scale'), 1) }),
    },
  };
}

export function layerEmbeddingNeeds({ width }: LayerEmbeddingConfig): BlockNeeds {
  return { projected: 0, mixed: 0, inner: width };
}
