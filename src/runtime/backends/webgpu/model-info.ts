import type { ModelInfo } from '../../../shared/info.ts';
import type { ModelConfig, ModelDescription } from '../../models/architectures/model-config.ts';
import { unsupported } from '../../models/gguf/header-cursor.ts';
import { FILE_TYPES } from '../../models/gguf/file-types.ts';
import type { GgufHeader } from '../../models/gguf/header.ts';
import { modelSizes, needsOf } from './plan/model-sizes.ts';

export function modelInfo(
  header: GgufHeader,
  { config }: ModelDescription,
  known: Pick<ModelInfo, 'id' | 'contextTokens' | 'weightBytes' | 'fingerprint'>,
): ModelInfo {
  return {
    ...known,
    architecture: config.architecture,
    quantization: FILE_TYPES[Number(header.metadata.get('general.file_type') ?? -1)] ?? mostCommonType(header),
    layers: config.layers.length,
    hiddenSize: config.hiddenSize,
    ...headsOf(config),
    vocabSize: config.vocabSize,
    parameters: header.tensors.reduce((sum, { elements }) => sum + elements, 0),
    kvBytesPerToken: modelSizes(config).kvBytesPerToken,
  };
}

/** Of the first attention, for the reader; a model without any has none. */
function headsOf(config: ModelConfig): Pick<ModelInfo, 'heads' | 'kvHeads' | 'headDim'> {
  const attention = config.layers.flatMap(({ blocks }) => blocks).find((block) => block.kind === 'attention');
  const { heads = 0, kvHeads = 0, headDim = 0 } = attention ?? {};
  return { heads, kvHeads, headDim };
}

function mostCommonType(header: GgufHeader): string {
  const elements = new Map<string, number>();
  for (const tensor of header.tensors) elements.set(tensor.type, (elements.get(tensor.type) ?? 0) + tensor.elements);
  return [...elements].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 'unknown';
}

/** @throws TokenglassError `model-unsupported` for a shape that the kernels do not take */
export function checkModel(config: ModelConfig): void {
  if (config.layerEmbedding && config.hiddenSize % 32 !== 0)
    throw unsupported(`it is ${config.hiddenSize} wide; with embeddings by layer multiples of 32 are run`);
  for (const block of config.layers.flatMap(({ blocks }) => blocks)) {
    if (block.kind === 'delta-net' && ![16, 32, 64, 128, 256].includes(block.headDim))
      throw unsupported(`the heads of its delta net are ${block.headDim} wide; 16, 32, 64, 128 and 256 are run`);
    if (block.kind === 'mamba2' && (block.stateDim % 4 !== 0 || ![16, 32, 64, 128, 256].includes(block.headDim)))
      throw unsupported(
        `its Mamba heads are ${block.headDim} wide, with states of ${block.stateDim}; widths of 16, 32, 64, 128 and 256 are run, and multiples of 4`,
      );
    if (block.kind === 'experts' && block.size % 4 !== 0)
      throw unsupported(`its experts are ${block.size} wide; multiples of 4 are run`);
  }
  for (const { kv } of needsOf(config)) {
    if (kv && (kv.headDim % 8 !== 0 || kv.headDim > 512))
      throw unsupported(`its heads are ${kv.headDim} wide; multiples of 8 up to 512 are run`);
  }
}
