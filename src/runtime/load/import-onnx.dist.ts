import { TokenglassError } from '../../shared/errors.ts';
import { partUrl, partUrls } from '../../shared/parts.ts';

type OnnxPart = typeof import('./onnx-part.ts');

/** @throws TokenglassError `unsupported` where the build of the page does not carry the part */
export async function importOnnx(): Promise<OnnxPart> {
  const url = partUrl('onnx');
  if (url === undefined) {
    throw new TokenglassError(
      'unsupported',
      'Cannot run an ONNX model: the build of this page does not carry the engine for it; see docs/embedding.md, or give a GGUF file',
    );
  }
  const part = (await import(/* @vite-ignore */ /* webpackIgnore: true */ url)) as OnnxPart;
  part.addPartUrls(partUrls());
  return part;
}
