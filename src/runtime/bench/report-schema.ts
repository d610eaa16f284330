import { REPORT_FORMAT } from './report.ts';
import type { Schema } from './check-schema.ts';

const number: Schema = { type: 'number' };
const atLeast0: Schema = { type: 'number', minimum: 0 };
const share: Schema = { type: 'number', minimum: 0, maximum: 1 };
const count: Schema = { type: 'integer', minimum: 0 };
const text: Schema = { type: 'string' };
const named: Schema = { type: 'string', minLength: 1 };
const yesOrNo: Schema = { type: 'boolean' };
const list = (items: Schema, minItems?: number): Schema => ({
  type: 'array',
  items,
  ...(minItems !== undefined && { minItems }),
});
const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` });

/** Further fields are allowed: a reader of this version skips what a later one of the same format adds. */
const object = (
  required: Record<string, Schema>,
  optional: Record<string, Schema> = {},
  description?: string,
): Schema => ({
  type: 'object',
  ...(description !== undefined && { description }),
  properties: { ...required, ...optional },
  required: Object.keys(required),
});

const kind = (name: string, tag: string, fields: Record<string, Schema> = {}): Schema =>
  object({ [tag]: { const: name }, ...fields });

const LENGTH: Schema = {
  description: 'A length in tokens as it was drawn for each request.',
  anyOf: [
    kind('fixed', 'kind', { tokens: atLeast0 }),
    kind('uniform', 'kind', { min: atLeast0, max: atLeast0 }),
    kind('exponential', 'kind', { mean: atLeast0 }),
    kind('lognormal', 'kind', { mean: atLeast0, p99: atLeast0 }),
    kind('empirical', 'kind', { name: text, lengths: list(atLeast0, 1) }),
  ],
};

const ARRIVALS: Schema = {
  anyOf: [
    kind('closed-loop', 'process', { users: count, thinkTimeMs: atLeast0 }),
    kind('constant', 'process', { ratePerSecond: atLeast0 }),
    kind('poisson', 'process', { ratePerSecond: atLeast0 }),
    kind('gamma', 'process', { ratePerSecond: atLeast0, burstiness: atLeast0 }),
    kind('ramp', 'process', { fromRatePerSecond: atLeast0, toRatePerSecond: atLeast0 }),
    kind('trace', 'process', { name: text, requests: count, speed: atLeast0 }),
  ],
};

const SUMMARY: Schema = {
  description: 'Percentiles by linear interpolation on raw samples, with their number. No samples, no percentiles.',
  anyOf: [
    { type: 'object', properties: { n: { const: 0 } }, required: ['n'] },
    object({ n: { type: 'integer', minimum: 1 }, p50: number, p95: number, p99: number, max: number }),
  ],
};

const SLO = object({ name: named }, { ttftMs: atLeast0, tpotMs: atLeast0, itlP95Ms: atLeast0, e2eMs: atLeast0 });

const CONDITIONS: Schema = {
  ...object(
    {
      model: {
        description:
          'What an engine has no way to know of its model is named in `unknown`; only then weightBytes may be 0.',
        ...object(
          {
            id: named,
            architecture: text,
            quantization: named,
            parameters: atLeast0,
            weightBytes: atLeast0,
            kvBytesPerToken: atLeast0,
          },
          { unknown: { type: 'array', items: named } },
        ),
      },
      engine: object({ name: named, version: named, reason: text, worker: yesOrNo }, { threads: count, policy: named }),
      batch: { type: 'integer', minimum: 1 },
      workload: named,
      promptLength: ref('length'),
      outputLength: ref('length'),
      sharedPrefixShare: share,
      turns: { type: 'integer', minimum: 1 },
      arrivals: ref('arrivals'),
      stop: object({}, { requests: count, durationMs: atLeast0, p95Within: atLeast0 }),
      concurrency: count,
      warmUpRequests: count,
      coolDownMs: atLeast0,
      seed: number,
      temperature: atLeast0,
      chatTemplate: yesOrNo,
      slo: ref('slo'),
      prefixCache: object({ enabled: yesOrNo }, { flushed: yesOrNo }),
      speculative: object({ enabled: yesOrNo }, { method: named }),
    },
    {
      adapter: object({
        vendor: text,
        architecture: text,
        description: text,
        isFallback: yesOrNo,
        features: list(text),
      }),
    },
  ),
  // What computed: an adapter, or so many threads.
  anyOf: [{ required: ['adapter'] }, { properties: { engine: { required: ['threads'] } } }],
};

const FIGURES = object(
  {
    ttftMs: ref('summary'),
    itlMs: ref('summary'),
    systemTokensPerSecond: atLeast0,
    peakSystemTokensPerSecond: atLeast0,
    peakWindowMs: atLeast0,
    goodput: object({
      requestsPerSecond: atLeast0,
      tokensPerSecond: atLeast0,
      share,
      shares: { type: 'object', additionalProperties: share },
    }),
    prefixCacheHitRate: share,
  },
  {
    tpotMs: ref('summary'),
    e2eMs: ref('summary'),
    prefillTokensPerSecond: ref('summary'),
    userTokensPerSecond: ref('summary'),
    dispatchDelayMs: ref('summary'),
    queueMs: ref('summary'),
    draftAcceptance: share,
  },
);

const SAMPLE = object(
  {
    index: count,
    warmUp: yesOrNo,
    hidden: yesOrNo,
    promptTokens: count,
    cachedTokens: count,
    outputTokens: count,
    finishReason: { enum: ['stop', 'length'] },
    itlMs: list(number),
    calledMs: number,
    tokenTimesMs: list(number),
    text,
    ids: list(number),
  },
  {
    coolDown: yesOrNo,
    conversation: count,
    turn: count,
    ttftMs: number,
    ttftParts: { type: 'object', additionalProperties: number },
    tpotMs: number,
    e2eMs: number,
    prefillTokensPerSecond: number,
    dispatchDelayMs: number,
    draftedTokens: count,
    acceptedTokens: count,
  },
);

const RUN = object(
  {
    conditions: ref('conditions'),
    durationMs: { type: 'number', exclusiveMinimum: 0 },
    steadyFromMs: number,
    requests: object({ completed: count, failed: count }),
    failures: list(object({ index: count, code: named, message: text })),
    figures: ref('figures'),
    notes: list(object({ code: named, message: named })),
    samples: list(ref('sample')),
  },
  { gpuCallsPerToken: { type: 'object', additionalProperties: atLeast0 } },
);

/**
 * JSON Schema (2020-12) of `tokenglass.report/1`: what makes a result comparable is required. Published as `docs/report.schema.json`, which
 * `tools/report-schema.ts` writes.
 */
export const REPORT_SCHEMA: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Tokenglass benchmark report',
  ...object(
    {
      format: { const: REPORT_FORMAT },
      tokenglass: named,
      createdAt: named,
      environment: object(
        {
          browser: named,
          os: named,
          cpuThreads: count,
          crossOriginIsolated: yesOrNo,
          timerResolutionMs: atLeast0,
        },
        { memoryGiB: atLeast0 },
      ),
      runs: list(ref('run'), 1),
      figures: { type: 'object', additionalProperties: number },
    },
    {
      command: text,
      ratios: list(object({ of: named, to: named, figure: named, median: number, n: count })),
      sweeps: list(
        object(
          { engine: named, over: { enum: ['users', 'rate'] }, points: list(object({ value: number, run: count })) },
          { knee: number },
        ),
      ),
      searches: list(
        object(
          {
            engine: named,
            slo: ref('slo'),
            neededShare: share,
            tolerance: share,
            probes: list(object({ ratePerSecond: atLeast0, share, kept: yesOrNo, run: count })),
          },
          { ratePerSecond: atLeast0, failedRatePerSecond: atLeast0 },
        ),
      ),
    },
  ),
  $defs: {
    length: LENGTH,
    arrivals: ARRIVALS,
    summary: SUMMARY,
    slo: SLO,
    conditions: CONDITIONS,
    figures: FIGURES,
    sample: SAMPLE,
    run: RUN,
  },
};
