import { TokenglassError } from '../../../shared/errors.ts';
import type { MlcAppConfig, MlcCacheBackend, MlcLibrary, MlcModelRecord } from './library.ts';
import { isWebLlmModel, type WebLlmModel } from './web-llm-model.ts';

/** A model as web-llm loads it, and where it keeps the files. */
export interface MlcModel {
  record: MlcModelRecord;
  appConfig: MlcAppConfig;
}

/**
 * Finds a model in the library's catalog, or makes an entry of it.
 * @throws TokenglassError `model-not-found`; `model-unsupported` for one that makes embeddings; TypeError for URLs that are none
 */
export function resolveWebLlmModel(
  library: Pick<MlcLibrary, 'prebuiltAppConfig'>,
  model: unknown,
  cacheBackend: MlcCacheBackend = 'cache',
  contextTokens?: number,
): MlcModel {
  const found = isWebLlmModel(model) ? recordOf(model) : prebuilt(library, model);
  if (found.model_type === EMBEDDING)
    throw new TokenglassError(
      'model-unsupported',
      `Cannot run ${found.model_id}: it makes embeddings, not text; take another of listWebLlmModels()`,
      { details: { model: found.model_id } },
    );
  const overrides = { ...found.overrides, ...(contextTokens !== undefined && { context_window_size: contextTokens }) };
  const record = { ...found, overrides };
  return { record, appConfig: { model_list: [record], cacheBackend } };
}

const EMBEDDING = 1;

function recordOf({ modelUrl, modelLibUrl, id }: WebLlmModel): MlcModelRecord {
  const url = absolute(modelUrl, 'modelUrl');
  const parts = new URL(url).pathname
    .replace(/\/resolve\/.*$/, '')
    .split('/')
    .filter(Boolean);
  return { model: url, model_id: id ?? parts.at(-1) ?? url, model_lib: absolute(modelLibUrl, 'modelLibUrl') };
}

/** The library takes a relative model URL for a broken one, and does not keep a relative model library. */
function absolute(url: string, name: string): string {
  const page = typeof location === 'undefined' ? undefined : location.href;
  if (typeof url === 'string' && URL.canParse(url, page)) return new URL(url, page).href;
  throw new TypeError(`Cannot load a model with web-llm: ${name} is no URL; give one that begins with https://`);
}

function prebuilt({ prebuiltAppConfig }: Pick<MlcLibrary, 'prebuiltAppConfig'>, model: unknown): MlcModelRecord {
  const record = prebuiltAppConfig.model_list.find(({ model_id: id }) => id === model);
  if (record) return record;
  const name = typeof model === 'string' ? JSON.stringify(model) : 'that';
  throw new TokenglassError(
    'model-not-found',
    `Cannot load ${name} with web-llm: its catalog has no such model; take a name of listWebLlmModels(), or give { modelUrl, modelLibUrl }`,
    { details: { model } },
  );
}

/** URL of the folder, as the library makes it of a record's. */
export function folderUrl({ model }: MlcModelRecord): string {
  const folder = model.endsWith('/') ? model : `${model}/`;
  return new URL(/.+\/resolve\/.+\//.test(folder) ? folder : `${folder}resolve/main/`).href;
}
