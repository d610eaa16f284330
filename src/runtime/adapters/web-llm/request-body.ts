import { TokenglassError } from '../../../shared/errors.ts';
import type { OutputGrammar, SamplingParams } from '../../../shared/generation.ts';
import { samplingParameters } from '../../request/sampling-parameters.ts';
import type { CheckedRequest } from '../../request/validate-request.ts';
import { toMlcMessages } from './conversation.ts';
import type { MlcRequest } from './library.ts';
import { needsLogits, type LogitWishes } from './logit-probe.ts';
import type { MlcPipeline } from './pipeline.ts';

/** A request as the library reads it, and what is done here in its place. */
export interface MlcCall {
  isChat: boolean;
  body: MlcRequest;
  wishes: LogitWishes;
  /** The answer begins with an empty thought that the library writes. */
  noThinking: boolean;
}

/** How many tokens the library's empty thought has; it counts them as part of the answer. */
export type CountEmptyThought = () => number;

/**
 * Says to the library what it can do well, and nothing that it does in its own way: no stop strings (streamed text may show their
 * beginning, and `ignore_eos` turns them off), no n, and log-probabilities, top-k and min-p by {@link LogitWishes}.
 *
 * @param pipeline absent for an engine in the library's worker, where logits are out of reach
 * @throws TokenglassError `unsupported`, `invalid-request`, each with the field
 */
export function toMlcCall(
  checked: CheckedRequest,
  modelId: string,
  seed: number | undefined,
  pipeline: MlcPipeline | undefined,
  countEmptyThought: CountEmptyThought,
): MlcCall {
  const { input, sampling, maxTokens, ignoreEos, grammar, logprobs } = checked;
  if ('promptTokens' in input) throw lacks('promptTokens', 'give messages or a prompt');
  if (checked.stopTokenIds.length > 0 && !pipeline) throw lacks('stopTokenIds');
  const { topK = 0, minP = 0, temperature = pipeline?.config.temperature ?? 1 } = sampling;
  const wishes = { logprobs, topK, minP, temperature };
  if (needsLogits(wishes)) refuseWithoutLogits(wishes, sampling, pipeline);
  const isChat = 'messages' in input;
  const variables = isChat ? readVariables(input.templateVariables) : {};
  const noThinking = variables.enableThinking === false;
  return {
    isChat,
    wishes,
    noThinking,
    body: {
      model: modelId,
      stream: true,
      stream_options: { include_usage: true },
      ...(isChat ? { messages: toMlcMessages(input.messages, pipeline?.config) } : { prompt: input.prompt }),
      ...(maxTokens !== undefined && { max_tokens: maxTokens + (noThinking ? countEmptyThought() : 0) }),
      ...(ignoreEos && { ignore_eos: true }),
      ...(variables.enableThinking !== undefined && { extra_body: { enable_thinking: variables.enableThinking } }),
      ...samplingOf(sampling),
      // Greedy is a draw at a temperature of 1e-6 here: the seed settles ties.
      seed: seed ?? 0,
      ...(grammar && { response_format: formatOf(grammar, isChat) }),
    },
  };
}

function refuseWithoutLogits(wishes: LogitWishes, sampling: SamplingParams, pipeline: MlcPipeline | undefined): void {
  const { topK, minP } = wishes;
  const field = topK > 0 ? 'sampling.topK' : minP > 0 ? 'sampling.minP' : 'logprobs';
  if (!pipeline) throw lacks(field);
  if (field === 'logprobs') return;
  const { repetitionPenalty = 1, frequencyPenalty = 0, presencePenalty = 0, logitBias = {} } = sampling;
  const isPlain = repetitionPenalty === 1 && frequencyPenalty === 0 && presencePenalty === 0;
  // The library applies these after the logits were seen, so that the cut would fall on other tokens.
  if (!isPlain || Object.keys(logitBias).length > 0) throw lacks(field, 'leave it out, or the penalties and the bias');
}

function readVariables(variables: Readonly<Record<string, unknown>> = {}): { enableThinking?: boolean } {
  const { enable_thinking: enableThinking, ...rest } = variables;
  const [other] = Object.keys(rest);
  if (other !== undefined) throw lacks(`templateVariables.${other}`);
  return typeof enableThinking === 'boolean' ? { enableThinking } : {};
}

function samplingOf(sampling: SamplingParams): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, { api, webLlm }] of samplingParameters()) {
    const value = sampling[name];
    if (value === undefined || !webLlm || name === 'seed') continue;
    const { most = Infinity } = webLlm;
    if (Math.abs(value) > most) throw lacks(`sampling.${name}`, `give -${most} to ${most}`);
    body[api.name] = value;
  }
  if (sampling.logitBias !== undefined) body['logit_bias'] = clampBias(sampling.logitBias);
  return body;
}

const clampBias = (logitBias: Readonly<Record<number, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(logitBias).map(([id, bias]) => [id, Math.min(100, Math.max(-100, bias))]));

/** `json_object` without a schema is no grammar in 0.2.86: it compiles the schema that is not there. */
const ANY_JSON = { anyOf: [{ type: 'object' }, { type: 'array' }] };

function formatOf(grammar: OutputGrammar, isChat: boolean): Record<string, unknown> {
  if (!isChat) throw lacks('grammar', 'give messages, or leave it out');
  if (grammar.type === 'ebnf') return { type: 'grammar', grammar: grammar.grammar };
  return { type: 'json_object', schema: JSON.stringify(grammar.type === 'json' ? ANY_JSON : grammar.schema) };
}

function lacks(field: string, whatToDo = 'leave it out'): TokenglassError {
  return new TokenglassError('unsupported', `Cannot generate: web-llm has no ${field} here; ${whatToDo}`, {
    details: { field },
  });
}
