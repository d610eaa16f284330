import { importLibrary, type MlcLibrary } from './library.ts';

/** A model of web-llm's catalog. */
export interface WebLlmCatalogEntry {
  /** What `createEngine({ engine: 'web-llm', model })` takes. */
  id: string;
  /** True for one that would take images too; only text goes to it here. */
  seesImages: boolean;
  /** GPU memory that it needs with its context, bytes; absent if the catalog does not say. */
  memoryBytes?: number;
  /** The catalog says that it runs on phones and the like. */
  lowResource: boolean;
  /** WebGPU features that it needs, such as `shader-f16`. */
  requiredFeatures: readonly string[];
  /** `maxStorageBufferBindingSize` that it needs; absent if the catalog does not say. */
  bufferBytes?: number;
  /** Most tokens of prompt and answer, as the catalog sets it; absent if it leaves that to the model. */
  contextTokens?: number;
  modelUrl: string;
  modelLibUrl: string;
}

/**
 * The catalog of the installed `@mlc-ai/web-llm`: the models that generate text, in its order.
 * @throws TokenglassError `unsupported` if the package is not installed
 * @example
 * ```ts
 * import { listWebLlmModels } from 'tokenglass/web-llm';
 *
 * const small = (await listWebLlmModels()).filter(({ memoryBytes = Infinity }) => memoryBytes < 1e9);
 * ```
 */
export async function listWebLlmModels(
  library: () => Promise<Pick<MlcLibrary, 'prebuiltAppConfig'>> = importLibrary,
): Promise<WebLlmCatalogEntry[]> {
  const { prebuiltAppConfig } = await library();
  return prebuiltAppConfig.model_list
    .filter(({ model_type: type }) => type !== EMBEDDING)
    .map((record): WebLlmCatalogEntry => {
      const contextTokens = record.overrides?.['context_window_size'];
      const { vram_required_MB: megabytes, buffer_size_required_bytes: bufferBytes } = record;
      return {
        id: record.model_id,
        seesImages: record.model_type === VISION,
        ...(megabytes !== undefined && { memoryBytes: Math.round(megabytes * 2 ** 20) }),
        lowResource: record.low_resource_required === true,
        requiredFeatures: record.required_features ?? [],
        ...(bufferBytes !== undefined && { bufferBytes }),
        ...(typeof contextTokens === 'number' && contextTokens > 0 && { contextTokens }),
        modelUrl: record.model,
        modelLibUrl: record.model_lib,
      };
    });
}

const EMBEDDING = 1;
const VISION = 2;
