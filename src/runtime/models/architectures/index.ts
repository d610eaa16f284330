import type { Architecture } from './architecture.ts';
import { gemma3 } from './gemma3.ts';
import { lfm2, lfm2moe } from './lfm2.ts';
import { llama } from './llama.ts';
import { phi3 } from './phi3.ts';
import { qwen2 } from './qwen2.ts';
import { qwen3 } from './qwen3.ts';
import { qwen35 } from './qwen35.ts';
import { qwen3moe } from './qwen3moe.ts';

/** Every architecture that runs, by its name in GGUF metadata. */
export const ARCHITECTURES: ReadonlyMap<string, Architecture> = new Map(
  [llama, qwen2, qwen3, gemma3, phi3, lfm2, qwen35, qwen3moe, lfm2moe].map((architecture) => [architecture.name, architecture]),
);
