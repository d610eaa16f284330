import type { AdapterInfo, ModelInfo } from '../../../shared/info.ts';
import { partlyKnownModel } from '../../../shared/model-number.ts';
import type { MlcModelRecord } from './library.ts';
import { deviceOf, type MlcChatConfig, type MlcPipeline } from './pipeline.ts';

/** @param pipeline absent for an engine in the library's worker: little is known then */
export function describeModel(record: MlcModelRecord, pipeline: MlcPipeline | undefined): ModelInfo {
  const quantization = pipeline?.config.quantization ?? /q\d+f\d+(?:_\d+)?/.exec(record.model_id)?.[0];
  const known = pipeline ? numbersOf(pipeline, quantization) : { contextTokens: positive(record.overrides?.[WINDOW]) };
  return partlyKnownModel({
    id: record.model_id,
    architecture: pipeline?.config.model_type,
    quantization,
    ...known,
    fingerprint: `${record.model} ${record.model_lib}`,
  });
}

const WINDOW = 'context_window_size';

function numbersOf({ config, contextWindowSize, tvm }: MlcPipeline, quantization: string | undefined) {
  const { ParamBytes: weightBytes, BitsPerParam: bits } = tvm?.cacheMetadata ?? {};
  const shape = shapeOf(config);
  const { layers, kvHeads, headDim } = shape;
  // KV is kept in the type of the activations: the f of q4f16_1.
  const kvBytes = quantization?.includes('f32') ? 4 : quantization?.includes('f16') ? 2 : undefined;
  return {
    ...shape,
    vocabSize: positive(config.vocab_size),
    contextTokens: positive(contextWindowSize),
    weightBytes: positive(weightBytes),
    parameters: weightBytes && bits ? Math.round((weightBytes * 8) / bits) : undefined,
    kvBytesPerToken: layers && kvHeads && headDim && kvBytes ? layers * kvHeads * headDim * 2 * kvBytes : undefined,
  };
}

function shapeOf({ model_config: model = {} }: MlcChatConfig) {
  const hiddenSize = positive(model['hidden_size']);
  const heads = positive(model['num_attention_heads']);
  return {
    layers: positive(model['num_hidden_layers']),
    hiddenSize,
    heads,
    kvHeads: positive(model['num_key_value_heads']) ?? heads,
    headDim: positive(model['head_dim']) ?? (hiddenSize && heads ? hiddenSize / heads : undefined),
  };
}

const positive = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;

/** What the device tells of its adapter; nothing where the device cannot be seen or the browser does not say. */
export function describeDevice(pipeline: MlcPipeline | undefined): AdapterInfo | undefined {
  const device = deviceOf(pipeline);
  const info = (device as { adapterInfo?: GPUAdapterInfo } | undefined)?.adapterInfo;
  if (!device || !info) return undefined;
  const description =
    [info.description, info.device, info.architecture, info.vendor].find(Boolean) ?? 'unknown adapter';
  const { isFallbackAdapter = false } = info as { isFallbackAdapter?: boolean };
  return {
    vendor: info.vendor,
    architecture: info.architecture,
    description,
    isFallback: isFallbackAdapter || /swiftshader|llvmpipe|lavapipe/i.test(`${info.architecture} ${description}`),
    features: [...device.features].sort(),
  };
}
