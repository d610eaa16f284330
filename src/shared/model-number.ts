import type { ModelInfo } from './info.ts';

/** The fields of a {@link ModelInfo} that are numbers. */
const MODEL_NUMBERS = [
  'layers',
  'hiddenSize',
  'heads',
  'kvHeads',
  'headDim',
  'vocabSize',
  'contextTokens',
  'parameters',
  'weightBytes',
  'kvBytesPerToken',
] as const satisfies readonly (keyof ModelInfo)[];

export type ModelNumber = (typeof MODEL_NUMBERS)[number];

/** What is known of a model by an engine that cannot know all; whatever is absent is named in `unknown`. */
export interface KnownModel extends Partial<Record<ModelNumber, number | undefined>> {
  id: string;
  architecture?: string | undefined;
  quantization?: string | undefined;
  fingerprint: string;
}

/** A {@link ModelInfo} with a 0, or `unknown`, for whatever is not known. */
export function partlyKnownModel({ id, architecture, quantization, fingerprint, ...known }: KnownModel): ModelInfo {
  const unknown = [
    ...(architecture === undefined ? ['architecture'] : []),
    ...(quantization === undefined ? ['quantization'] : []),
    ...MODEL_NUMBERS.filter((name) => known[name] === undefined),
  ];
  const numbers = Object.fromEntries(MODEL_NUMBERS.map((name) => [name, known[name] ?? 0])) as Record<
    ModelNumber,
    number
  >;
  return {
    id,
    architecture: architecture ?? 'unknown',
    quantization: quantization ?? 'unknown',
    ...numbers,
    fingerprint,
    ...(unknown.length > 0 && { unknown }),
  };
}

/** A number of a model; nothing where the engine has no way to know it, which {@link ModelInfo} tells by `unknown`, and a 0. */
export const modelNumber = (model: Pick<ModelInfo, ModelNumber | 'unknown'>, name: ModelNumber): number | undefined =>
  model.unknown?.includes(name) ? undefined : model[name];
