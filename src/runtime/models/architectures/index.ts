import type { Architecture } from './architecture.ts';
import { ernie4_5 } from './ernie4-5.ts';
import { exaone4 } from './exaone4.ts';
import { gemma2 } from './gemma2.ts';
import { gemma3 } from './gemma3.ts';
import { gemma4 } from './gemma4.ts';
import { glm4 } from './glm4.ts';
import { gptOss } from './gpt-oss.ts';
import { granite, granitehybrid, granitemoe, minicpm } from './granite.ts';
import { hunyuanDense } from './hunyuan-dense.ts';
import { lfm2, lfm2moe } from './lfm2.ts';
import { llama } from './llama.ts';
import { mistral3 } from './mistral3.ts';
import { phi3 } from './phi3.ts';
import { qwen2 } from './qwen2.ts';
import { qwen3 } from './qwen3.ts';
import { qwen35 } from './qwen35.ts';
import { qwen3moe } from './qwen3moe.ts';
import { smollm3 } from './smollm3.ts';

const ALL: readonly Architecture[] = [
  llama,
  qwen2,
  qwen3,
  gemma3,
  phi3,
  lfm2,
  qwen35,
  qwen3moe,
  lfm2moe,
  smollm3,
  granite,
  granitemoe,
  granitehybrid,
  minicpm,
  gemma2,
  exaone4,
  glm4,
  ernie4_5,
  hunyuanDense,
  gptOss,
  gemma4,
  mistral3,
];

/** Every architecture that runs, by its name in GGUF metadata. */
export const ARCHITECTURES: ReadonlyMap<string, Architecture> = new Map(
  ALL.map((architecture) => [architecture.name, architecture]),
);
