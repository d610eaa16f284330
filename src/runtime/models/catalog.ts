import { TokenglassError } from '../../shared/errors.ts';
import { createBuiltInSource, TUTOR_GGUF } from './builtin.ts';
import type { ModelSource } from './source.ts';
import { createUrlSource } from './url-source.ts';

/** A model that was found, and which of its formats there are. */
export interface ResolvedModel {
  source: ModelSource;
  /** Path of a GGUF file within the source; absent if the model has none. */
  gguf?: string;
  /** True if the source has the layout of onnx-community repositories. */
  onnx: boolean;
}

/** Names of the models that need no URL. */
export const CATALOG_NAMES = ['tutor'] as const;

/**
 * Finds a model by its name: `tutor`; the URL of a `.gguf` file; or the URL of a folder in the layout of onnx-community repositories. URLs may be
 * relative to the page (`./models/mine/`).
 *
 * @param assets.tutorBaseUrl where the built-in model's folder lies, if not in the package
 * @throws TokenglassError `model-not-found` for a name that is neither in the catalog nor a URL
 */
export function resolveModel(model: string, assets: { tutorBaseUrl?: string } = {}): ResolvedModel {
  if (model === 'tutor') return { source: createBuiltInSource(assets.tutorBaseUrl), gguf: TUTOR_GGUF, onnx: true };
  const url = asUrl(model);
  if (!url) {
    const known = CATALOG_NAMES.join(', ');
    const message = `Cannot load the model "${model}": it is neither in the catalog (${known}) nor a URL; give one of these, or a URL that begins with https://, / or ./`;
    throw new TokenglassError('model-not-found', message, { details: { model } });
  }
  if (!/\.gguf$/i.test(url.pathname)) return { source: createUrlSource(url, { id: model }), onnx: true };
  const source = createUrlSource(new URL('.', url), { id: model });
  return { source, gguf: `${url.pathname.slice(url.pathname.lastIndexOf('/') + 1)}${url.search}`, onnx: false };
}

function asUrl(model: string): URL | undefined {
  if (!/^(?:https?:|\.{0,2}\/)/i.test(model)) return undefined;
  const page = typeof location === 'undefined' ? undefined : location.href;
  return URL.canParse(model, page) ? new URL(model, page) : undefined;
}
