import type { Engine } from '../../request/engine.ts';
import { withOpenAi, type OpenAiFace } from '../../faces/openai/create-openai.ts';
import { loadWebLlm, type WebLlmOptions } from './load-web-llm.ts';

/**
 * An engine over `@mlc-ai/web-llm`, in the calling thread or in a worker of the library's. `createEngine({ engine: 'web-llm', model })` has it in
 * a worker of this project, which knows more; this is for pages that have their own.
 *
 * @throws like `loadWebLlm`
 * @example
 * ```ts
 * import { createWebLlmEngine } from 'tokenglass/web-llm';
 *
 * const engine = await createWebLlmEngine({ model: 'Llama-3.2-1B-Instruct-q4f16_1-MLC' });
 * ```
 */
export async function createWebLlmEngine(options: WebLlmOptions): Promise<Engine & OpenAiFace> {
  return withOpenAi(await loadWebLlm(options));
}
