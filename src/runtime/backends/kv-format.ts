import type { ModelConfig } from '../models/architectures/model-config.ts';

/**
 * Names what the bytes of KV are: their layout, and everything besides the tensors that changes a value of them. The whole configuration
 * counts, so that a field that is added to it cannot be forgotten here.
 *
 * @param layout precision and order of the bytes, with a number that goes up when kernels write them differently
 * @param chosen what the load chose: rotary factors for the context length, the arithmetic of prompts
 */
export function kvFormat(layout: string, config: ModelConfig, chosen: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([layout, config, chosen]);
}
