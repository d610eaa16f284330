import { TokenglassError } from '../../shared/errors.ts';
import type { ModelSource } from './source.ts';
import { createUrlSource, fetchFile } from './url-source.ts';

/**
 * The files of the built-in model. Each URL is written out, because bundlers find the files by this very pattern. (The library build keeps
 * the depth of folders, so the paths hold in `dist/` too.)
 */
const TUTOR_FILES: Readonly<Record<string, () => URL>> = {
  'tutor.q4_0.gguf': () => new URL('../../../models/tutor/tutor.q4_0.gguf', import.meta.url),
  'onnx/model_q4.onnx': () => new URL('../../../models/tutor/onnx/model_q4.onnx', import.meta.url),
  'config.json': () => new URL('../../../models/tutor/config.json', import.meta.url),
  'generation_config.json': () => new URL('../../../models/tutor/generation_config.json', import.meta.url),
  'tokenizer.json': () => new URL('../../../models/tutor/tokenizer.json', import.meta.url),
  'tokenizer_config.json': () => new URL('../../../models/tutor/tokenizer_config.json', import.meta.url),
};

/** GGUF file of the built-in model, relative to its source. */
export const TUTOR_GGUF = 'tutor.q4_0.gguf';

/**
 * The model that comes with the package: a few million parameters, INT4, in GGUF and in ONNX; it needs no network.
 * @param baseUrl where its folder lies instead, for pages that host the files themselves
 */
export function createBuiltInSource(baseUrl?: string | URL): ModelSource {
  if (baseUrl !== undefined) return createUrlSource(baseUrl, { id: 'tutor', kind: 'built-in' });
  return {
    id: 'tutor',
    kind: 'built-in',
    // async, so that an unknown path rejects
    async open(path, options) {
      const url = Object.hasOwn(TUTOR_FILES, path) ? TUTOR_FILES[path]!() : undefined;
      if (!url) {
        const message = `Cannot load ${path}: the built-in model has no such file; it has ${Object.keys(TUTOR_FILES).join(', ')}`;
        throw new TokenglassError('model-not-found', message, { details: { path } });
      }
      return fetchFile(url, options);
    },
  };
}
