import type { GenerateRequest, OutputGrammar } from '../../../shared/generation.ts';
import { check, invalid } from '../../../shared/check.ts';
import { unsupported } from './api-error.ts';
import {
  checkModel,
  COMMON_FIELDS,
  readCommon,
  readFields,
  readGeneration,
  readLength,
  readTopLogprobs,
  refuseOthers,
  type CommonJob,
  type Fields,
} from './read-common.ts';
import { readMessages } from './read-messages.ts';
import { readTools, type Tool, type ToolUse } from './read-tools.ts';

/** A chat request, checked. */
export interface ChatJob extends CommonJob {
  /** Without what tells the answers of `n` apart. */
  request: GenerateRequest;
  /** Most likely tokens to tell with each; absent: no log-probabilities. */
  topLogprobs?: number;
  /** Absent if no tool may be called. */
  toolUse?: ToolUse;
}

const FIELDS = {
  ...COMMON_FIELDS,
  messages: true,
  max_completion_tokens: true,
  top_logprobs: true,
  tools: true,
  tool_choice: true,
  parallel_tool_calls: true,
  response_format: true,
  chat_template_kwargs: true,
  // Read for the one value that says nothing.
  store: true,
  modalities: true,
} as const;

const REFUSED = {
  functions: 'use tools',
  function_call: 'use tool_choice',
  audio: 'leave it out',
  prediction: 'leave it out',
  web_search_options: 'leave it out',
  reasoning_effort: 'use chat_template_kwargs with what the template of the model knows (enable_thinking, say)',
  verbosity: 'leave it out',
  prompt_cache_retention: 'leave it out',
  prompt_cache_options: 'leave it out',
  moderation: 'leave it out',
  echo: 'leave it out',
  best_of: 'use n',
};

/**
 * Checks a body of `/v1/chat/completions`.
 * @param modelId what the engine has
 * @throws TokenglassError `invalid-request`, `unsupported`, `model-not-found`; `details.field` names the parameter
 */
export function readChat(body: unknown, modelId: string): ChatJob {
  const fields = readFields(body);
  refuseOthers(fields, FIELDS, REFUSED);
  checkModel(fields['model'], modelId);
  if (check.optionalBoolean(fields['store'], 'store')) throw unsupported('store', 'nothing is stored; leave it out');
  refuseModalities(fields['modalities']);
  const common = readCommon(fields);
  const toolUse = readTools(fields);
  const topLogprobs = readLogprobs(fields);
  const maxTokens = readChatLength(fields);
  const grammar = readGrammar(fields['response_format'], toolUse);
  const templateVariables = {
    ...(fields['chat_template_kwargs'] !== undefined &&
      check.plainObject(fields['chat_template_kwargs'], 'chat_template_kwargs')),
    ...(toolUse && { tools: toolUse.tools.map(({ definition }) => definition) }),
  };
  return {
    ...common,
    request: {
      messages: readMessages(fields['messages']),
      ...readGeneration(fields),
      ...(maxTokens !== undefined && { maxTokens }),
      // The engine gives the sampled token's own with those of the most likely one.
      ...(topLogprobs !== undefined && { logprobs: Math.max(1, topLogprobs) }),
      ...(Object.keys(templateVariables).length > 0 && { templateVariables }),
      ...(grammar && { grammar }),
    },
    ...(topLogprobs !== undefined && { topLogprobs }),
    ...(toolUse && { toolUse }),
  };
}

function refuseModalities(value: unknown): void {
  if (value === undefined) return;
  const modalities = check.array(value, 'modalities', 1, 8);
  if (modalities.some((modality) => modality !== 'text')) throw unsupported('modalities', 'use text only');
}

function readLogprobs(fields: Fields): number | undefined {
  const wanted = check.optionalBoolean(fields['logprobs'], 'logprobs');
  const top = fields['top_logprobs'];
  if (top === undefined) return wanted ? 0 : undefined;
  const count = readTopLogprobs(top, 'top_logprobs');
  if (!wanted) throw invalid('top_logprobs', 'is given without logprobs', 'set logprobs to true, or leave it out');
  return count;
}

/** `max_tokens` is the older name. */
function readChatLength(fields: Fields): number | undefined {
  const older = readLength(fields, 'max_tokens');
  const newer = readLength(fields, 'max_completion_tokens');
  if (older !== undefined && newer !== undefined && older !== newer)
    throw invalid('max_tokens', `is ${older} and max_completion_tokens is ${newer}`, 'give one of them');
  return newer ?? older;
}

function readGrammar(format: unknown, toolUse: ToolUse | undefined): OutputGrammar | undefined {
  const ofFormat = format === undefined ? undefined : readResponseFormat(format);
  const forced = toolUse?.forced ?? [];
  if (forced.length === 0) {
    if (ofFormat && toolUse) throw unsupported('response_format', 'give either tools or a format of the answer');
    return ofFormat;
  }
  if (ofFormat) throw unsupported('response_format', 'a forced tool call has its own; leave one of them out');
  return { type: 'json-schema', schema: callSchema(forced) };
}

function readResponseFormat(value: unknown): OutputGrammar | undefined {
  const format = check.object(value, 'response_format');
  const type = check.text(format['type'], 'response_format.type');
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'json' };
  if (type !== 'json_schema')
    throw invalid(
      'response_format.type',
      `is ${JSON.stringify(type.slice(0, 40))}`,
      'use text, json_object or json_schema',
    );
  const wrapped = check.object(format['json_schema'], 'response_format.json_schema');
  const field = 'response_format.json_schema.schema';
  if (wrapped['schema'] === undefined || wrapped['schema'] === null) return { type: 'json' };
  return { type: 'json-schema', schema: check.plainObject(wrapped['schema'], field) };
}

/** A call as every family can write it and our parser reads it: the name first, so that the arguments can be streamed. */
function callSchema(tools: readonly Tool[]): Record<string, unknown> {
  const calls = tools.map(({ name, parameters = { type: 'object' } }) => ({
    type: 'object',
    properties: { name: { const: name }, arguments: parameters },
    required: ['name', 'arguments'],
    additionalProperties: false,
  }));
  return calls.length === 1 ? calls[0]! : { anyOf: calls };
}
