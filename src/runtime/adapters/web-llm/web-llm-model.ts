/** A model that is not in the library's catalog: a folder of weights, and the library that was compiled for it. */
export interface WebLlmModel {
  /** Of the folder with `mlc-chat-config.json`. Without `/resolve/` in it, web-llm appends `resolve/main/`, as the Hub has it. */
  modelUrl: string;
  /** Of the compiled model (`.wasm`), of the generation that the installed version of web-llm runs. */
  modelLibUrl: string;
  /** @default the last part of `modelUrl` */
  id?: string;
}

/** True for what is a {@link WebLlmModel} by its shape. */
export const isWebLlmModel = (model: unknown): model is WebLlmModel =>
  typeof model === 'object' && model !== null && 'modelUrl' in model && 'modelLibUrl' in model;
