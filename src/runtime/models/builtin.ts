import { TokenglassError } from '../../shared/errors.ts';
import type { ModelSource } from './source.ts';
import { TUTOR_FILES } from './tutor-files.ts';
import { createUrlSource, fetchFile } from './url-source.ts';

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
      if (!Object.hasOwn(TUTOR_FILES, path)) {
        const message = `Cannot load ${path}: the built-in model has no such file; it has ${Object.keys(TUTOR_FILES).join(', ')}`;
        throw new TokenglassError('model-not-found', message, { details: { path } });
      }
      const url = TUTOR_FILES[path]!();
      if (!url) {
        const message = `Cannot load ${path} of the built-in model: the build of this page does not carry it; say where its folder lies with assets.tutorBaseUrl`;
        throw new TokenglassError('model-not-found', message, { details: { path } });
      }
      return fetchFile(url, options);
    },
  };
}
