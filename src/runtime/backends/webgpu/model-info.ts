import { TokenglassError } from '../../../shared/errors.ts';
import type { ModelInfo } from '../../../shared/info.ts';
import type { ModelConfig, ModelDescription } from '../../models/architectures/model-config.ts';
import type { GgufHeader } from '../../models/gguf/header.ts';
import { modelSizes } from './plan/model-sizes.ts';

/** `general.file_type`, as llama.cpp numbers it (llama.h, llama_ftype). */
const FILE_TYPES: Readonly<Record<number, string>> = {
  0: 'F32',
  1: 'F16',
  2: 'Q4_0',
  3: 'Q4_1',
  7: 'Q8_0',
  8: 'Q5_0',
  9: 'Q5_1',
  10: 'Q2_K',
  11: 'Q3_K_S',
  12: 'Q3_K_M',
  13: 'Q3_K_L',
  14: 'Q4_K_S',
  15: 'Q4_K_M',
  16: 'Q5_K_S',
  17: 'Q5_K_M',
  18: 'Q6_K',
  32: 'BF16',
};

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
    heads: config.heads,
    kvHeads: config.kvHeads,
    headDim: config.headDim,
    vocabSize: config.vocabSize,
    parameters: header.tensors.reduce((sum, { elements }) => sum + elements, 0),
    kvBytesPerToken: modelSizes(config).kvBytesPerToken,
  };
}

function mostCommonType(header: GgufHeader): string {
  const elements = new Map<string, number>();
  for (const tensor of header.tensors) elements.set(tensor.type, (elements.get(tensor.type) ?? 0) + tensor.elements);
  return [...elements].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 'unknown';
}

/** @throws TokenglassError `model-unsupported` for a shape that the kernels do not take */
export function checkModel(config: ModelConfig): void {
  if (config.headDim % 8 !== 0 || config.headDim > 256) {
    throw new TokenglassError(
      'model-unsupported',
      `Cannot run the model: its heads are ${config.headDim} wide; multiples of 8 up to 256 are run`,
      { details: { headDim: config.headDim } },
    );
  }
}
