import { TokenglassError } from '../../../shared/errors.ts';
import type { GenerateRequest, SamplingParams } from '../../../shared/generation.ts';
import { check, invalid } from '../../../shared/check.ts';
import { samplingParameters } from '../../request/sampling-parameters.ts';
import { unsupported } from './api-error.ts';

/** Fields of a body from anywhere; a null is as if it were not there, as in OpenAI's API. */
export type Fields = Readonly<Record<string, unknown>>;

/** What chat and text completions have in common. */
export interface CommonJob {
  /** Answers to make of each prompt. */
  n: number;
  stream: boolean;
  includeUsage: boolean;
}

const SAMPLING_FIELDS = Object.fromEntries(samplingParameters().map(([, { api }]) => [api.name, true] as const));

/** Parameters of both kinds, but for the length. */
export const COMMON_FIELDS = {
  model: true,
  stream: true,
  stream_options: true,
  ...SAMPLING_FIELDS,
  logit_bias: true,
  stop: true,
  ignore_eos: true,
  n: true,
  logprobs: true,
  max_tokens: true,
  // These say who asks or how a service bills; they change nothing here.
  user: true,
  metadata: true,
  safety_identifier: true,
  prompt_cache_key: true,
  service_tier: true,
} as const;

/** Each answer is a request of its own in the engine's queue. */
const MAX_N = 128;
const MAX_TOP_LOGPROBS = 20;
const MAX_STOPS = 64;

/** @throws TokenglassError `invalid-request` for a body that is no object */
export function readFields(body: unknown): Fields {
  const fields = check.object(body, 'body');
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/**
 * Refuses what is not read: silence about a parameter would be an answer to another question.
 * @param refused fields of the API that we do not have, each with what to do
 */
export function refuseOthers(fields: Fields, known: Fields, refused: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(fields)) {
    if (Object.hasOwn(known, name)) continue;
    if (Object.hasOwn(refused, name)) throw unsupported(name, refused[name]!);
    throw invalid(name.slice(0, 40), 'is not known', 'leave it out');
  }
}

/** @throws TokenglassError `model-not-found` unless the model is absent or the engine's */
export function checkModel(model: unknown, id: string): void {
  if (model === undefined) return;
  if (check.text(model, 'model') === id) return;
  throw new TokenglassError(
    'model-not-found',
    `Cannot generate: the model ${JSON.stringify((model as string).slice(0, 200))} is not loaded; this engine has ${JSON.stringify(id)}`,
    { details: { field: 'model' } },
  );
}

/** `n`, `stream` and what goes with it. */
export function readCommon(fields: Fields): CommonJob {
  const stream = check.optionalBoolean(fields['stream'], 'stream');
  const tier = fields['service_tier'];
  if (tier !== undefined && tier !== 'auto' && tier !== 'default') throw unsupported('service_tier', 'leave it out');
  return {
    n: fields['n'] === undefined ? 1 : check.integer(fields['n'], 'n', 1, MAX_N),
    stream,
    includeUsage: readStreamOptions(fields['stream_options'], stream),
  };
}

function readStreamOptions(value: unknown, stream: boolean): boolean {
  if (value === undefined) return false;
  if (!stream) throw invalid('stream_options', 'is given without stream', 'set stream to true, or leave it out');
  const options = readFields(check.object(value, 'stream_options'));
  for (const name of Object.keys(options)) {
    if (name !== 'include_usage' && name !== 'include_obfuscation')
      throw invalid(`stream_options.${name.slice(0, 40)}`, 'is not known', 'leave it out');
  }
  if (check.optionalBoolean(options['include_obfuscation'], 'stream_options.include_obfuscation'))
    throw unsupported('stream_options.include_obfuscation', 'leave it out');
  return check.optionalBoolean(options['include_usage'], 'stream_options.include_usage');
}

/** Sampling, stop strings and `ignore_eos`, as the engine has them. */
export function readGeneration(fields: Fields): Pick<GenerateRequest, 'sampling' | 'stop' | 'ignoreEos'> {
  const stop = readStop(fields['stop']);
  return {
    sampling: readSampling(fields),
    ...(stop && { stop }),
    ...(check.optionalBoolean(fields['ignore_eos'], 'ignore_eos') && { ignoreEos: true }),
  };
}

function readSampling(fields: Fields): SamplingParams {
  const sampling: SamplingParams = {};
  for (const [name, { kind, min, max, api }] of samplingParameters()) {
    const value = fields[api.name];
    if (value === undefined) continue;
    const read = check[kind](value, api.name, api.min ?? min, api.max ?? max);
    sampling[name] = api.read ? api.read(read) : read;
  }
  if (fields['logit_bias'] !== undefined) sampling.logitBias = readLogitBias(fields['logit_bias']);
  return sampling;
}

/** Whether an id is in the vocabulary is the engine's to say. */
function readLogitBias(value: unknown): Record<number, number> {
  const entries = Object.entries(check.object(value, 'logit_bias'));
  return Object.fromEntries(
    entries.map(([key, bias]) => {
      const entry = `logit_bias[${key.slice(0, 40)}]`;
      if (!/^\d{1,10}$/.test(key)) throw invalid(entry, 'is no token id', 'use token ids as keys');
      return [Number(key), check.number(bias, entry, -100, 100)];
    }),
  );
}

function readStop(value: unknown): string[] | undefined {
  if (value === undefined) return undefined;
  const stops = typeof value === 'string' ? [value] : check.array(value, 'stop', 0, MAX_STOPS);
  return stops.map((stop, index) => {
    const field = typeof value === 'string' ? 'stop' : `stop[${index}]`;
    if (check.text(stop, field) === '') throw invalid(field, 'is empty', 'give at least one character');
    return stop as string;
  });
}

/** Absent if the field is; a 0 asks for nothing that could be generated. */
export function readLength(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return value === undefined ? undefined : check.integer(value, name, 1, Number.MAX_SAFE_INTEGER);
}

export const readTopLogprobs = (value: unknown, field: string): number =>
  check.integer(value, field, 0, MAX_TOP_LOGPROBS);
