/**
 * Where the files of the built-in model lie. Each URL is written out, because bundlers find the files by this very pattern. The library
 * build takes `tutor-files.dist.ts` in the place of this file.
 */
export const TUTOR_FILES: Readonly<Record<string, () => URL | undefined>> = {
  'tutor.q4_0.gguf': () => new URL('../../../models/tutor/tutor.q4_0.gguf', import.meta.url),
  'onnx/model_q4.onnx': () => new URL('../../../models/tutor/onnx/model_q4.onnx', import.meta.url),
  'config.json': () => new URL('../../../models/tutor/config.json', import.meta.url),
  'generation_config.json': () => new URL('../../../models/tutor/generation_config.json', import.meta.url),
  'tokenizer.json': () => new URL('../../../models/tutor/tokenizer.json', import.meta.url),
  'tokenizer_config.json': () => new URL('../../../models/tutor/tokenizer_config.json', import.meta.url),
};
