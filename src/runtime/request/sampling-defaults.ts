import { NEUTRAL_SAMPLING, type SamplingParams } from '../../shared/generation.ts';

/** What a model's makers recommend; everything else is off. */
export type SamplingDefaults = Pick<SamplingParams, 'temperature' | 'topP' | 'topK' | 'minP' | 'repetitionPenalty'>;

/**
 * Reads the parsed generation_config.json of a model. As in Hugging Face transformers, temperature, top_p, top_k and min_p count only
 * with `do_sample: true` (temperature 1 if it is not named), and repetition_penalty counts in any case. Values of a wrong type or out of
 * range are left out: a file from the network must not make every request fail.
 */
export function samplingDefaultsFrom(generationConfig: unknown): SamplingDefaults {
  if (typeof generationConfig !== 'object' || generationConfig === null) return {};
  const config = generationConfig as Readonly<Record<string, unknown>>;
  const defaults: SamplingDefaults = {};
  const take = (name: keyof SamplingDefaults, key: string, isValid: (value: number) => boolean): void => {
    const value = config[key];
    if (typeof value === 'number' && isValid(value)) defaults[name] = value;
  };
  take('repetitionPenalty', 'repetition_penalty', (value) => value > 0 && value < Infinity);
  if (config['do_sample'] !== true) return defaults;
  defaults.temperature = 1;
  take('temperature', 'temperature', (value) => value >= 0 && value < Infinity);
  take('topP', 'top_p', (value) => value > 0 && value <= 1);
  take('topK', 'top_k', (value) => Number.isInteger(value) && value >= 0);
  take('minP', 'min_p', (value) => value >= 0 && value < 1);
  return defaults;
}

/**
 * The complete parameters of a request: its own fields over the model's defaults over "off". A seed is drawn only if one is needed.
 * @param drawSeed gives an unsigned 32-bit integer
 */
export function mergeSampling(
  requested: SamplingParams,
  defaults: SamplingDefaults,
  drawSeed: () => number,
): Required<SamplingParams> {
  const merged = { ...NEUTRAL_SAMPLING, ...defaults, ...requested };
  if (requested.seed === undefined) merged.seed = merged.temperature > 0 ? drawSeed() : 0;
  return merged;
}

/** A seed nobody can foresee. */
export const randomSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0]!;
