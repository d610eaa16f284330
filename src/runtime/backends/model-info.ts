import type { ModelInfo } from '../../shared/info.ts';
import type { ModelConfig, ModelDescription } from '../models/architectures/model-config.ts';
import { FILE_TYPES } from '../models/gguf/file-types.ts';
import type { GgufHeader } from '../models/gguf/header.ts';

/** What there is to say of a model: what its header tells, and what the backend knows. */
export function modelInfo(
  header: GgufHeader,
  { config }: ModelDescription,
  known: Pick<ModelInfo, 'id' | 'contextTokens' | 'weightBytes' | 'fingerprint' | 'kvBytesPerToken'>,
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
