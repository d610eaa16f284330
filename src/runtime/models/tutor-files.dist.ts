import { partUrl } from '../../shared/parts.ts';

const NAMES = [
  'tutor.q4_0.gguf',
  'onnx/model_q4.onnx',
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
];

/** Where the files of the built-in model lie, as the page has told: undefined for a file that its build does not carry. */
export const TUTOR_FILES: Readonly<Record<string, () => URL | undefined>> = Object.fromEntries(
  NAMES.map((name) => {
    const locate = (): URL | undefined => {
      const url = partUrl(`tutor/${name}`);
      return url === undefined ? undefined : new URL(url);
    };
    return [name, locate] as const;
  }),
);
