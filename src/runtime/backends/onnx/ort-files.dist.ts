import { partUrl } from '../../../shared/parts.ts';
import type { OrtVariant } from './ort-assets.ts';

/** URLs of the module and the wasm of a build of onnxruntime-web, as the page has told; undefined where it has not. */
export function findOrtFiles(
  variant: OrtVariant,
): Promise<readonly [module: string | undefined, wasm: string | undefined]> {
  return Promise.resolve([partUrl(`ort/${variant}.js`), partUrl(`ort/${variant}.wasm`)]);
}
