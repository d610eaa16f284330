import { TokenglassError } from '../../../shared/errors.ts';
import { invalid, unsupported } from '../gguf/header-cursor.ts';
import type { GgufHeader } from '../gguf/header.ts';
import { findStrings, getInteger, getString } from '../gguf/metadata.ts';
import { ARCHITECTURES } from './index.ts';
import type { Layer, ModelConfig, ModelDescription, ModelWeights } from './model-config.ts';
import { ModelReader } from './model-reader.ts';

/**
 * What a GGUF header says of its model: the configuration and, by role, the tensors. Every tensor that the architecture needs is
 * there in the right shape, and every tensor of the file has a role.
 *
 * @throws TokenglassError `model-unsupported` (architecture or a variant of it that we do not run, or a part of a split file), `model-invalid` (metadata or a
 *   tensor missing or of the wrong shape; names it)
 */
export function describeModel(header: GgufHeader): ModelDescription {
  const parts = getInteger(header.metadata, 'split.count', { fallback: 1 });
  if (parts > 1) {
    throw new TokenglassError(
      'model-unsupported',
      `Cannot run the model: it is split into ${parts} files; join them with "llama-gguf-split --merge"`,
      { details: { parts } },
    );
  }
  const name = getString(header.metadata, 'general.architecture');
  const architecture = ARCHITECTURES.get(name);
  if (architecture === undefined) {
    const known = [...ARCHITECTURES.keys()];
    throw new TokenglassError(
      'model-unsupported',
      `Cannot run the model: its architecture is "${name}"; these are known: ${known.join(', ')}`,
      { details: { architecture: name, known } },
    );
  }
  const reader = new ModelReader(name, header);
  const vocabSize = reader.sizeOf('token_embd.weight', 1);
  const tokenEmbedding = reader.matrix('token_embd.weight', reader.hiddenSize, vocabSize);
  const body = architecture.read(reader);
  const { layers, embeddingScale = 1, logitScale = 1, logitCap, outputNorm = 'output_norm.weight' } = body;
  const softcap = reader.findNumber('final_logit_softcapping') ?? 0;
  if (softcap !== 0 && logitCap === undefined) throw unsupported(`it caps its logits softly (${softcap})`);
  const config: ModelConfig = {
    architecture: name,
    layers: layers.map(({ blocks }) => ({ blocks: blocks.map((block) => block.config) })),
    hiddenSize: reader.hiddenSize,
    vocabSize,
    contextTokens: reader.contextTokens,
    normEps: reader.normEps,
    embeddingScale,
    ...(body.layerEmbedding !== undefined && {
      layerEmbedding: { width: body.layerEmbedding, layers: reader.layerCount },
    }),
    logitScale,
    ...(logitCap !== undefined && { logitCap }),
    tiedOutput: !reader.has('output.weight'),
  };
  const weights = { tokenEmbedding, ...readWeights(reader, config, layers, outputNorm) };
  reader.refuseUnused();
  const tokens = findStrings(header.metadata, 'tokenizer.ggml.tokens');
  if (tokens !== undefined && tokens.length > config.vocabSize) {
    throw invalid(`its vocabulary has ${tokens.length} tokens, and its embedding ${config.vocabSize} rows`);
  }
  return { config, layers, weights };
}

function readWeights(
  reader: ModelReader,
  config: ModelConfig,
  layers: readonly Layer[],
  outputNorm: string,
): Omit<ModelWeights, 'tokenEmbedding'> {
  const { hiddenSize, vocabSize, tiedOutput } = config;
  return {
    outputNorm: reader.vector(outputNorm, hiddenSize),
    ...(tiedOutput ? {} : { output: reader.matrix('output.weight', hiddenSize, vocabSize) }),
    ...readLayerTable(reader, config),
    ...readRopeFactors(reader, layers),
  };
}

function readLayerTable(reader: ModelReader, { hiddenSize, vocabSize, layerEmbedding }: ModelConfig): Partial<ModelWeights> {
  if (!layerEmbedding) return {};
  const { width, layers } = layerEmbedding;
  return {
    layerTable: reader.matrix('per_layer_token_embd.weight', width * layers, vocabSize),
    layerProjection: reader.matrix('per_layer_model_proj.weight', hiddenSize, width * layers),
    layerNorm: reader.vector('per_layer_proj_norm.weight', width),
  };
}

/** Factors of rotary frequencies are of the model, whichever layers use them. */
function readRopeFactors(reader: ModelReader, layers: readonly Layer[]): Partial<ModelWeights> {
  const ropes = layers.flatMap(({ blocks }) => blocks).flatMap(({ config }) => (config.kind === 'attention' && config.rope ? [config.rope] : []));
  const used = ropes.find(({ usesFactors }) => usesFactors);
  const pairs = (used?.dims ?? 0) / 2;
  const longrope = ropes.find(({ scaling }) => scaling.type === 'longrope');
  if (longrope) {
    const long = longrope.dims / 2;
    return {
      ropeFactorsShort: reader.vector('rope_factors_short.weight', long),
      ropeFactorsLong: reader.vector('rope_factors_long.weight', long),
    };
  }
  return used ? { ropeFactors: reader.vector('rope_freqs.weight', pairs) } : {};
}
