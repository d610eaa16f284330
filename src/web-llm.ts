/**
 * `import 'tokenglass/web-llm'`: the engine `web-llm`, over the optional peer `@mlc-ai/web-llm`, which only pages that import this entry
 * are built with.
 */
export { clearWebLlmCache, type ClearWebLlmCacheOptions } from './runtime/adapters/web-llm/clear-cache.ts';
export { createWebLlmEngine } from './runtime/adapters/web-llm/create-web-llm-engine.ts';
export { listWebLlmModels, type WebLlmCatalogEntry } from './runtime/adapters/web-llm/list-models.ts';
export type { WebLlmOptions } from './runtime/adapters/web-llm/load-web-llm.ts';
export type { WebLlmModel } from './runtime/adapters/web-llm/web-llm-model.ts';
import { registerPackage } from './runtime/adapters/web-llm/import-package.ts';

registerPackage(() => import('@mlc-ai/web-llm'));
