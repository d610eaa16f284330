import type { FinishReason, SamplingParams, Usage } from '../../shared/generation.ts';
import type { EngineInfo } from '../../shared/info.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import { e2e } from './e2e.ts';
import { tpot } from './tpot.ts';
import { ttft } from './ttft.ts';

/** What an OpenTelemetry attribute can be. */
export type AttributeValue = string | number | boolean | string[];
export type Attributes = Record<string, AttributeValue>;

/** A request, as far as a span tells of it. */
export interface GenAiRequest {
  info: Pick<EngineInfo, 'engine' | 'version' | 'model'>;
  trace: RequestTrace;
  /** Chat turns or plain text. @default 'chat' */
  operation?: 'chat' | 'text_completion';
  sampling?: SamplingParams;
  maxTokens?: number;
  stop?: readonly string[];
  /** Absent if it was aborted or failed. */
  finishReason?: FinishReason;
  /** A `TokenglassError` code, or the name of another error. */
  errorType?: string;
}

/** `gen_ai.provider.name` of what runs in the page. */
export const GEN_AI_PROVIDER = 'tokenglass';

/**
 * Attributes of a span by the OpenTelemetry semantic conventions for generative AI (status: development;
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/). What has no name there begins with `tokenglass.`. No text of prompt or answer is in it.
 */
export function genAiSpanAttributes(request: GenAiRequest): Attributes {
  const { info, trace, operation = 'chat', sampling = {}, maxTokens, stop, finishReason, errorType } = request;
  const { usage } = trace;
  const ttftMs = ttft(trace);
  return withoutAbsent({
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': GEN_AI_PROVIDER,
    'gen_ai.request.model': info.model.id,
    'gen_ai.response.model': info.model.id,
    'gen_ai.response.id': trace.requestId,
    'gen_ai.request.stream': true,
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.request.temperature': sampling.temperature,
    'gen_ai.request.top_p': sampling.topP,
    'gen_ai.request.top_k': sampling.topK,
    'gen_ai.request.frequency_penalty': sampling.frequencyPenalty,
    'gen_ai.request.presence_penalty': sampling.presencePenalty,
    'gen_ai.request.seed': trace.seed,
    'gen_ai.request.stop_sequences': stop && [...stop],
    'gen_ai.response.finish_reasons': finishReason && [finishReason],
    'gen_ai.response.time_to_first_chunk': ttftMs === undefined ? undefined : ttftMs / 1000,
    'gen_ai.usage.input_tokens': known(usage, 'promptTokens'),
    'gen_ai.usage.output_tokens': known(usage, 'completionTokens'),
    'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens > 0 ? usage.cachedTokens : undefined,
    'error.type': errorType,
    'tokenglass.engine': info.engine,
    'tokenglass.version': info.version,
    'tokenglass.model.quantization': info.model.quantization,
    'tokenglass.page.hidden': trace.hidden,
  });
}

/** One recorded value of an OpenTelemetry histogram. */
export interface GenAiMeasurement {
  name: string;
  /** UCUM. */
  unit: 's' | '{token}';
  value: number;
  attributes: Attributes;
}

/**
 * The histograms of the conventions that a request adds to, in seconds as they ask. Client and server are one here: what the caller saw goes to
 * `gen_ai.client.*`, TTFT and TPOT to the names that model servers use. Time per output token is of successful requests only.
 */
export function genAiMeasurements(request: GenAiRequest): GenAiMeasurement[] {
  const { info, trace, operation = 'chat', errorType } = request;
  const attributes = withoutAbsent({
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': GEN_AI_PROVIDER,
    'gen_ai.request.model': info.model.id,
    'gen_ai.response.model': info.model.id,
    'error.type': errorType,
  });
  const seconds = (name: string, ms: number | undefined): GenAiMeasurement[] =>
    ms === undefined ? [] : [{ name, unit: 's', value: ms / 1000, attributes }];
  const tokens = (type: 'input' | 'output', value: number | undefined): GenAiMeasurement[] =>
    value === undefined
      ? []
      : [
          {
            name: 'gen_ai.client.token.usage',
            unit: '{token}',
            value,
            attributes: { ...attributes, 'gen_ai.token.type': type },
          },
        ];
  const isSuccess = errorType === undefined;
  return [
    ...seconds('gen_ai.client.operation.duration', e2e(trace)),
    ...seconds('gen_ai.client.operation.time_to_first_chunk', ttft(trace)),
    ...(isSuccess ? seconds('gen_ai.server.time_to_first_token', ttft(trace)) : []),
    ...(isSuccess ? seconds('gen_ai.server.time_per_output_token', tpot(trace)) : []),
    ...tokens('input', known(trace.usage, 'promptTokens')),
    ...tokens('output', known(trace.usage, 'completionTokens')),
  ];
}

/** A count that its engine knows: a server may not tell it. */
const known = (usage: Usage, name: NonNullable<Usage['unknown']>[number]): number | undefined =>
  usage.unknown?.includes(name) ? undefined : usage[name];

function withoutAbsent(values: Record<string, AttributeValue | undefined>): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(values)) if (value !== undefined) attributes[name] = value;
  return attributes;
}
