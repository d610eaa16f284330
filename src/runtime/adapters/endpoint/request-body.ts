import { TokenglassError } from '../../../shared/errors.ts';
import {
  NEUTRAL_SAMPLING,
  type ChatMessage,
  type OutputGrammar,
  type SamplingParams,
} from '../../../shared/generation.ts';
import { samplingParameters } from '../../request/sampling-parameters.ts';
import type { CheckedRequest } from '../../request/validate-request.ts';
import type { ServerKind } from './server-kind.ts';

/** Where a request goes, below the base URL, and its body. */
export interface EndpointRequest {
  path: '/chat/completions' | '/completions';
  body: Record<string, unknown>;
}

/**
 * A request as the server reads it.
 * @param seed sent with a request that may sample
 * @throws TokenglassError `unsupported` for what the server has no way to say
 */
export function requestBody(
  checked: CheckedRequest,
  model: string,
  kind: ServerKind,
  seed: number | undefined,
): EndpointRequest {
  const { input, maxTokens, stop, stopTokenIds, ignoreEos, grammar, logprobs } = checked;
  const isChat = 'messages' in input;
  // OpenAI's newer models take the newer name only; the others know the older one.
  const lengthName = isChat && kind === 'openai' ? 'max_completion_tokens' : 'max_tokens';
  const body: Record<string, unknown> = {
    model,
    ...(isChat ? chatInput(input, kind) : { prompt: 'prompt' in input ? input.prompt : input.promptTokens }),
    stream: true,
    stream_options: { include_usage: true, ...(kind === 'vllm' && { continuous_usage_stats: true }) },
    ...samplingOf(checked.sampling, kind),
    ...(seed !== undefined && { seed }),
    ...(maxTokens !== undefined && { [lengthName]: maxTokens }),
    ...(stop.length > 0 && { stop }),
    ...(logprobs > 0 && (isChat ? { logprobs: true, top_logprobs: logprobs } : { logprobs })),
    ...(grammar && { response_format: formatOf(grammar) }),
    // What lets tokens be counted, chunk by chunk.
    ...(kind === 'vllm' && { return_token_ids: true }),
    ...(kind === 'llama.cpp' && { timings_per_token: true }),
  };
  if (stopTokenIds.length > 0) {
    if (kind !== 'vllm') throw lacks('stopTokenIds');
    body['stop_token_ids'] = stopTokenIds;
  }
  if (ignoreEos) {
    if (kind !== 'vllm' && kind !== 'llama.cpp') throw lacks('ignoreEos');
    body['ignore_eos'] = true;
  }
  return { path: isChat ? '/chat/completions' : '/completions', body };
}

function chatInput(
  {
    messages,
    templateVariables = {},
  }: { messages: readonly ChatMessage[]; templateVariables?: Readonly<Record<string, unknown>> },
  kind: ServerKind,
): Record<string, unknown> {
  const { tools, ...variables } = templateVariables;
  const hasVariables = Object.keys(variables).length > 0;
  if (hasVariables && kind !== 'vllm' && kind !== 'llama.cpp') throw lacks('templateVariables');
  return {
    // Fields of templates have the names that the API has.
    messages: messages.map(({ role, content, templateFields }) => ({ ...templateFields, role, content })),
    ...(tools !== undefined && { tools }),
    ...(hasVariables && { chat_template_kwargs: variables }),
  };
}

/** A parameter that the server does not know is left out where it is off anyway. The seed is the caller's to send. */
function samplingOf(sampling: SamplingParams, kind: ServerKind): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, { api, servers }] of samplingParameters()) {
    const value = sampling[name];
    if (value === undefined || name === 'seed') continue;
    const theirs = servers === 'all' ? api.name : servers[kind];
    if (theirs !== undefined) body[theirs] = value;
    else if (value !== NEUTRAL_SAMPLING[name]) throw lacks(`sampling.${name}`);
  }
  if (sampling.logitBias !== undefined) body['logit_bias'] = clampBias(sampling.logitBias);
  return body;
}

/** -100 bans a token for OpenAI, and is the least that JSON and the servers take. */
const clampBias = (logitBias: Readonly<Record<number, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(logitBias).map(([id, bias]) => [id, Math.min(100, Math.max(-100, bias))]));

function formatOf(grammar: OutputGrammar): Record<string, unknown> {
  if (grammar.type === 'json') return { type: 'json_object' };
  if (grammar.type === 'ebnf') throw lacks('grammar.type');
  return { type: 'json_schema', json_schema: { name: 'answer', schema: grammar.schema, strict: true } };
}

function lacks(field: string): TokenglassError {
  return new TokenglassError('unsupported', `Cannot generate: the server has no way to say ${field}; leave it out`, {
    details: { field },
  });
}
