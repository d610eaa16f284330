import type { ModelReader } from './model-reader.ts';
import type { Layer } from './model-config.ts';

/** What an architecture makes of a header: its layers, and what is special before the first and after the last of them. */
export interface ModelBody {
  layers: readonly Layer[];
  /** What token embeddings are multiplied with. @default 1 */
  embeddingScale?: number;
  /** Values that each token has for each layer, from a table and from its embedding. @default none */
  layerEmbedding?: number;
  /** What logits are multiplied with. @default 1 */
  logitScale?: number;
  /** Soft cap of the logits. @default none */
  logitCap?: number | undefined;
  /** Name of the last norm. @default 'output_norm.weight' */
  outputNorm?: string;
}

/** One architecture: it reads the metadata and lists the blocks of each layer. A new one of known blocks is one object of this type. */
export interface Architecture {
  /** `general.architecture`, and the prefix of its metadata keys. */
  readonly name: string;
  /** @throws TokenglassError `model-unsupported`, `model-invalid`; names the key or tensor */
  readonly read: (reader: ModelReader) => ModelBody;
}

/** Layers, each made by its index. */
export function layersOf(count: number, layer: (index: number) => Layer): Layer[] {
  return Array.from({ length: count }, (_, index) => layer(index));
}
