import type { SamplingParams } from '../../shared/generation.ts';
import { check, invalid } from '../../shared/check.ts';
import { SAMPLING_PARAMETERS, samplingParameters } from './sampling-parameters.ts';

const FIELDS: Readonly<Record<string, true>> = Object.fromEntries(
  [...Object.keys(SAMPLING_PARAMETERS), 'logitBias'].map((name) => [name, true] as const),
);

/** A checked copy of sampling parameters. @throws TokenglassError `invalid-request` with `details.field` */
export function validateSampling(value: unknown, vocabSize: number): SamplingParams {
  const fields = check.object(value, 'sampling');
  check.knownFields(fields, FIELDS, 'sampling.');
  const sampling: SamplingParams = {};
  for (const [name, { kind, min, max }] of samplingParameters()) {
    if (fields[name] !== undefined) sampling[name] = check[kind](fields[name], `sampling.${name}`, min, max);
  }
  if (fields['logitBias'] !== undefined) sampling.logitBias = validateLogitBias(fields['logitBias'], vocabSize);
  return sampling;
}

function validateLogitBias(value: unknown, vocabSize: number): Record<number, number> {
  const field = 'sampling.logitBias';
  const entries = Object.entries(check.object(value, field));
  if (entries.length > vocabSize)
    throw invalid(field, `has ${entries.length} entries`, `give at most ${vocabSize}, one a token id`);
  return Object.fromEntries(
    entries.map(([key, bias]) => {
      const entry = `${field}[${key.slice(0, 40)}]`;
      const id = /^\d+$/.test(key) ? Number(key) : NaN;
      if (!(id < vocabSize)) throw invalid(entry, 'is no token id', `use ids from 0 to ${vocabSize - 1} as keys`);
      // Minus infinity bans the token; plus infinity would leave no distribution to sample from.
      return [id, bias === -Infinity ? bias : check.number(bias, entry, -Number.MAX_VALUE, Number.MAX_VALUE)];
    }),
  );
}
