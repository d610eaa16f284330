import { NEUTRAL_SAMPLING, type SamplingParams } from '../../shared/generation.ts';
import { samplingParameters } from './sampling-parameters.ts';

/** What a model's makers recommend; everything else is off. */
export type SamplingDefaults = Omit<SamplingParams, 'logitBias'>;

/**
 * Reads the parsed generation_config.json of a model. As in Hugging Face transformers, most of its numbers count only with
 * `do_sample: true` (temperature 1 if it is not named). Values of a wrong type or out of range are left out: a file from the network
 * must not make every request fail.
 */
export function samplingDefaultsFrom(generationConfig: unknown): SamplingDefaults {
  if (typeof generationConfig !== 'object' || generationConfig === null) return {};
  const values = generationConfig as Readonly<Record<string, unknown>>;
  const isSampled = values['do_sample'] === true;
  const defaults: SamplingDefaults = isSampled ? { temperature: 1 } : {};
  for (const [name, { kind, min, max, config }] of samplingParameters()) {
    const value = config && (isSampled || !config.sampled) ? values[config.key] : undefined;
    const isValid = typeof value === 'number' && value >= min && value <= max;
    if (isValid && (kind === 'number' || Number.isInteger(value))) defaults[name] = value;
  }
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
