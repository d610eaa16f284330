/** Files of a model of the catalog on the Hugging Face Hub. */
export interface CatalogHubFiles {
  /** `owner/name`. */
  repository: string;
  /** Path of the GGUF file; absent for a repository with the ONNX layout. */
  file?: string;
  /** Bytes to download. */
  bytes: number;
  /** True if `bytes` is rounded, or the file may be one of several precisions. */
  isApproximate?: boolean;
}

/** A model that can be loaded by its name. */
export interface CatalogEntry {
  name: string;
  /** What people call it. */
  title: string;
  parameters: number;
  /** Bytes of KV a token in f16. */
  kvBytesPerToken: number;
  /** Bytes to download, in the format that the engine `webgpu` takes. */
  downloadBytes: number;
  /** Bytes that it takes while it runs, with `CATALOG_CONTEXT_TOKENS` of context; an estimate. */
  neededBytes: number;
  /** Where it is downloaded from; absent for the built-in model. */
  hub?: { gguf: CatalogHubFiles; onnx: CatalogHubFiles };
}

/** Context that `neededBytes` counts with. */
export const CATALOG_CONTEXT_TOKENS = 2048;

/** Activations, logits and staging of a small model. */
const SCRATCH_BYTES = 64e6;

/** Models that need no URL, the smallest first. */
export const CATALOG: readonly CatalogEntry[] = [
  // Built in. INT4 weights; KV of 6 layers, 2 heads of 64, keys and values; scratch is the larger part of what it needs.
  {
    name: 'tutor',
    title: 'Tutor',
    parameters: 4_070_000,
    kvBytesPerToken: 6 * 2 * 2 * 64 * 2,
    downloadBytes: 3_500_000,
    neededBytes: 32_000_000,
  },
  // Names and sizes as of 2025, from their repositories' listings as others quote them; none was downloaded in this project's own tests.
  onHub({
    name: 'smollm2-135m',
    title: 'SmolLM2 135M',
    parameters: 134_515_008,
    kvBytesPerToken: 30 * 2 * 3 * 64 * 2,
    gguf: {
      repository: 'bartowski/SmolLM2-135M-Instruct-GGUF',
      file: 'SmolLM2-135M-Instruct-Q4_K_M.gguf',
      bytes: 105_454_432,
    },
    onnx: { repository: 'onnx-community/SmolLM2-135M-Instruct-ONNX', bytes: 200e6, isApproximate: true },
  }),
  onHub({
    name: 'smollm2-360m',
    title: 'SmolLM2 360M',
    parameters: 361_821_120,
    kvBytesPerToken: 32 * 2 * 5 * 64 * 2,
    gguf: {
      repository: 'bartowski/SmolLM2-360M-Instruct-GGUF',
      file: 'SmolLM2-360M-Instruct-Q4_K_M.gguf',
      bytes: 270_590_880,
    },
    onnx: { repository: 'onnx-community/SmolLM2-360M-Instruct-ONNX', bytes: 390e6, isApproximate: true },
  }),
  onHub({
    name: 'qwen2.5-0.5b',
    title: 'Qwen2.5 0.5B',
    parameters: 494_032_768,
    kvBytesPerToken: 24 * 2 * 2 * 64 * 2,
    gguf: {
      repository: 'Qwen/Qwen2.5-0.5B-Instruct-GGUF',
      file: 'qwen2.5-0.5b-instruct-q4_0.gguf',
      bytes: 429e6,
      isApproximate: true,
    },
    onnx: { repository: 'onnx-community/Qwen2.5-0.5B-Instruct', bytes: 790e6, isApproximate: true },
  }),
  onHub({
    name: 'qwen3-0.6b',
    title: 'Qwen3 0.6B',
    parameters: 596_049_920,
    kvBytesPerToken: 28 * 2 * 8 * 128 * 2,
    gguf: { repository: 'unsloth/Qwen3-0.6B-GGUF', file: 'Qwen3-0.6B-Q4_K_M.gguf', bytes: 396_705_472 },
    onnx: { repository: 'onnx-community/Qwen3-0.6B-ONNX', bytes: 920e6, isApproximate: true },
  }),
  onHub({
    name: 'gemma-3-1b',
    title: 'Gemma 3 1B',
    parameters: 999_885_952,
    kvBytesPerToken: 26 * 2 * 256 * 2,
    gguf: { repository: 'ggml-org/gemma-3-1b-it-GGUF', file: 'gemma-3-1b-it-Q4_K_M.gguf', bytes: 806_058_240 },
    onnx: { repository: 'onnx-community/gemma-3-1b-it-ONNX', bytes: 1e9, isApproximate: true },
  }),
  onHub({
    name: 'llama-3.2-1b',
    title: 'Llama 3.2 1B',
    parameters: 1_235_814_400,
    kvBytesPerToken: 16 * 2 * 8 * 64 * 2,
    gguf: {
      repository: 'bartowski/Llama-3.2-1B-Instruct-GGUF',
      file: 'Llama-3.2-1B-Instruct-Q4_K_M.gguf',
      bytes: 807_694_464,
    },
    onnx: { repository: 'onnx-community/Llama-3.2-1B-Instruct-ONNX', bytes: 1.7e9, isApproximate: true },
  }),
];

/** The entry with this name, or whose files lie in this repository of the Hub. */
export function catalogEntry(nameOrRepository: string): CatalogEntry | undefined {
  return CATALOG.find(
    ({ name, hub }) =>
      name === nameOrRepository ||
      hub?.gguf.repository === nameOrRepository ||
      hub?.onnx.repository === nameOrRepository,
  );
}

function onHub({
  gguf,
  onnx,
  ...entry
}: Omit<CatalogEntry, 'hub' | 'downloadBytes' | 'neededBytes'> & NonNullable<CatalogEntry['hub']>): CatalogEntry {
  const kvBytes = entry.kvBytesPerToken * CATALOG_CONTEXT_TOKENS;
  return {
    ...entry,
    downloadBytes: gguf.bytes,
    neededBytes: Math.ceil(gguf.bytes + kvBytes + SCRATCH_BYTES),
    hub: { gguf, onnx },
  };
}
