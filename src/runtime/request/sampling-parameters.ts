import type { SamplingParams } from '../../shared/generation.ts';

type Name = Exclude<keyof SamplingParams, 'logitBias'>;

/** What there is to know of one number that a request can set for sampling. */
export interface SamplingParameter {
  kind: 'number' | 'integer';
  /** Closed range of the engine; an open end is the nearest number inside. */
  min: number;
  max: number;
  /**
   * The field of OpenAI's API, or of vLLM's further ones; its closed range, where that is another than the engine's, and then how its value
   * becomes the engine's.
   */
  api: { name: string; min?: number; max?: number; read?: (value: number) => number };
  /** The key in generation_config.json that recommends a value; `sampled`: only together with `do_sample: true`. Absent: there is none. */
  config?: { key: string; sampled: boolean };
  /** Which servers know it by which name; `all`: it is part of OpenAI's own API. */
  servers: 'all' | Readonly<Record<string, string>>;
  /** Whether web-llm knows it by the name of OpenAI's API, and up to which absolute value. Absent: it is done here, or refused. */
  webLlm?: { most?: number };
}

const UINT32_MAX = 2 ** 32 - 1;
/** Greatest number below 1, for a range that is open there. */
const BELOW_ONE = 1 - Number.EPSILON / 2;

/**
 * Every number that a request can set for sampling. Validation, the defaults of a model, the faces and the endpoint engine read this table.
 * A new parameter is a line of {@link SamplingParams}, its neutral value, a row here, and its arithmetic in `backends/sampling`.
 */
export const SAMPLING_PARAMETERS = {
  temperature: {
    kind: 'number',
    min: 0,
    max: 100,
    api: { name: 'temperature', max: 2 },
    config: { key: 'temperature', sampled: true },
    servers: 'all',
    webLlm: {},
  },
  topP: {
    kind: 'number',
    min: Number.MIN_VALUE,
    max: 1,
    api: { name: 'top_p' },
    config: { key: 'top_p', sampled: true },
    servers: 'all',
    webLlm: {},
  },
  topK: {
    kind: 'integer',
    min: 0,
    max: UINT32_MAX,
    api: { name: 'top_k', min: -1, read: (value) => Math.max(0, value) }, // vLLM and llama.cpp take -1 for "off"
    config: { key: 'top_k', sampled: true },
    servers: { vllm: 'top_k', 'llama.cpp': 'top_k' },
  },
  minP: {
    kind: 'number',
    min: 0,
    max: BELOW_ONE,
    api: { name: 'min_p' },
    config: { key: 'min_p', sampled: true },
    servers: { vllm: 'min_p', 'llama.cpp': 'min_p' },
  },
  repetitionPenalty: {
    kind: 'number',
    min: Number.MIN_VALUE,
    max: 1000,
    api: { name: 'repetition_penalty' },
    config: { key: 'repetition_penalty', sampled: false },
    servers: { vllm: 'repetition_penalty', 'llama.cpp': 'repeat_penalty' },
    webLlm: {},
  },
  frequencyPenalty: {
    kind: 'number',
    min: -1000,
    max: 1000,
    api: { name: 'frequency_penalty', min: -2, max: 2 },
    servers: 'all',
    webLlm: { most: 2 },
  },
  presencePenalty: {
    kind: 'number',
    min: -1000,
    max: 1000,
    api: { name: 'presence_penalty', min: -2, max: 2 },
    servers: 'all',
    webLlm: { most: 2 },
  },
  seed: {
    kind: 'integer',
    min: 0,
    max: UINT32_MAX,
    api: {
      name: 'seed',
      min: Number.MIN_SAFE_INTEGER,
      max: Number.MAX_SAFE_INTEGER,
      read: (value) => value >>> 0,
    },
    servers: 'all',
    webLlm: {},
  },
} as const satisfies Record<Name, SamplingParameter>;

/** The rows as a list of names and parameters, in the order of the table. */
export const samplingParameters = (): [name: Name, parameter: SamplingParameter][] =>
  Object.entries(SAMPLING_PARAMETERS) as [Name, SamplingParameter][];

/** The body of a request to an API, as far as numbers for sampling go. */
export type SamplingBody = {
  [Row in keyof typeof SAMPLING_PARAMETERS as (typeof SAMPLING_PARAMETERS)[Row]['api']['name']]?: number | null;
};
