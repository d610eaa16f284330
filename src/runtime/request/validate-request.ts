import { TokenglassError } from '../../shared/errors.ts';
import type { ChatMessage, GenerateRequest, OutputGrammar, Priority, SamplingParams } from '../../shared/generation.ts';
import type { PromptInput } from '../text/encode-prompt.ts';
import { check, invalid } from '../../shared/check.ts';
import { contextOverflow, MAX_CHARS_PER_TOKEN } from './context-overflow.ts';
import { validateSampling } from './validate-sampling.ts';

/** What the model and the backend allow. */
export interface RequestLimits {
  vocabSize: number;
  /** Most tokens (prompt and output together) of a sequence. */
  contextTokens: number;
  /** Largest n for log-probabilities; 0: the backend has none. */
  maxLogprobs: number;
  /** Answers can be held to a grammar. @default false */
  grammar?: boolean;
}

/** Where the prompt comes from: exactly one of the three. */
export type RequestInput = PromptInput | { promptTokens: readonly number[] };

/** A request whose every field has been checked, copied (a caller may change its object while the request waits) and filled in. */
export interface CheckedRequest {
  input: RequestInput;
  /** As given; the model's defaults are not merged in yet. */
  sampling: SamplingParams;
  /** Absent: what is left of the context. */
  maxTokens?: number;
  stop: readonly string[];
  stopTokenIds: readonly number[];
  ignoreEos: boolean;
  grammar?: OutputGrammar;
  logprobs: number;
  speculation: boolean;
  priority: Priority;
  timeoutMs?: number;
  calledAtMs?: number;
}

/** `satisfies` makes the compiler ask for a line here (and a check below) when a field is added. */
const FIELDS = {
  messages: true,
  templateVariables: true,
  prompt: true,
  promptTokens: true,
  sampling: true,
  maxTokens: true,
  stop: true,
  stopTokenIds: true,
  ignoreEos: true,
  grammar: true,
  logprobs: true,
  speculation: true,
  priority: true,
  timeoutMs: true,
  calledAtMs: true,
} satisfies Record<keyof GenerateRequest, true>;

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);
const PRIORITIES: ReadonlySet<unknown> = new Set(['high', 'normal', 'low'] satisfies Priority[]);
const MAX_MESSAGES = 16_384;
const MAX_STOPS = 64;
const MAX_STOP_LENGTH = 512;

/**
 * Checks a request of unknown origin.
 * @throws TokenglassError `invalid-request` with `details.field`; `context-overflow` for a prompt that can be seen to be too long
 *   without tokenizing it; `unsupported` for log-probabilities that the backend does not have
 */
export function validateRequest(request: unknown, limits: RequestLimits): CheckedRequest {
  const fields = check.object(request, 'request');
  check.knownFields(fields, FIELDS, '');
  const { maxTokens, timeoutMs, calledAtMs } = fields;
  return {
    input: validateInput(fields, limits),
    sampling: fields['sampling'] === undefined ? {} : validateSampling(fields['sampling'], limits.vocabSize),
    ...(maxTokens !== undefined && { maxTokens: check.integer(maxTokens, 'maxTokens', 1, Number.MAX_SAFE_INTEGER) }),
    stop: validateStop(fields['stop']),
    stopTokenIds: validateStopTokenIds(fields['stopTokenIds'], limits.vocabSize),
    ignoreEos: check.optionalBoolean(fields['ignoreEos'], 'ignoreEos'),
    ...(fields['grammar'] !== undefined && { grammar: validateGrammar(fields['grammar'], limits) }),
    logprobs: validateLogprobs(fields['logprobs'], limits.maxLogprobs),
    speculation: fields['speculation'] === undefined || check.optionalBoolean(fields['speculation'], 'speculation'),
    priority: validatePriority(fields['priority']),
    ...(timeoutMs !== undefined && { timeoutMs: check.number(timeoutMs, 'timeoutMs', 0, Number.MAX_SAFE_INTEGER) }),
    ...(calledAtMs !== undefined && { calledAtMs: check.number(calledAtMs, 'calledAtMs', 0, Number.MAX_VALUE) }),
  };
}

/** @throws TokenglassError like {@link validateRequest} */
export function validateInput(fields: Readonly<Record<string, unknown>>, limits: RequestLimits): RequestInput {
  const { messages, prompt, promptTokens, templateVariables } = fields;
  const given = Object.entries({ messages, prompt, promptTokens }).filter(([, value]) => value !== undefined);
  if (given.length !== 1) {
    const names = given.map(([name]) => name).join(' and ') || 'none of them';
    throw invalid(
      given[1]?.[0] ?? 'messages',
      `is given as ${names}`,
      'give exactly one of messages, prompt, promptTokens',
    );
  }
  if (templateVariables !== undefined && messages === undefined)
    throw invalid('templateVariables', 'is given without messages', 'give messages, or leave it out');
  if (messages !== undefined)
    return {
      messages: validateMessages(messages, limits),
      ...(templateVariables !== undefined && {
        templateVariables: check.plainObject(templateVariables, 'templateVariables'),
      }),
    };
  if (prompt !== undefined) return { prompt: validatePrompt(prompt, limits) };
  return { promptTokens: validatePromptTokens(promptTokens, limits) };
}

function validateMessages(value: unknown, limits: RequestLimits): ChatMessage[] {
  const messages = check.array(value, 'messages', 1, MAX_MESSAGES);
  let chars = 0;
  const copies = messages.map((item, index) => {
    const field = `messages[${index}]`;
    const { role, content, templateFields, ...rest } = check.object(item, field);
    if (!ROLES.has(role)) throw invalid(`${field}.role`, `is ${show(role)}`, `use one of ${[...ROLES].join(', ')}`);
    chars += check.text(content, `${field}.content`).length;
    const more =
      templateFields === undefined
        ? {}
        : { templateFields: check.plainObject(templateFields, `${field}.templateFields`) };
    return { ...rest, ...more, role, content } as ChatMessage;
  });
  refuseHopeless(chars, limits);
  return copies;
}

function validatePrompt(value: unknown, limits: RequestLimits): string {
  const prompt = check.text(value, 'prompt');
  if (prompt === '') throw invalid('prompt', 'is empty', 'give at least one character');
  refuseHopeless(prompt.length, limits);
  return prompt;
}

function validatePromptTokens(value: unknown, { vocabSize, contextTokens }: RequestLimits): number[] {
  if (Array.isArray(value) && value.length >= contextTokens) throw contextOverflow(value.length, contextTokens);
  return check.ids(value, 'promptTokens', vocabSize, 1, contextTokens);
}

/** A text of this length cannot fit, and tokenizing it to say by how much could take minutes. */
function refuseHopeless(chars: number, { contextTokens }: RequestLimits): void {
  const atLeast = Math.ceil(chars / MAX_CHARS_PER_TOKEN);
  if (atLeast > contextTokens) throw contextOverflow(atLeast, contextTokens, { atLeast: true });
}

function validateStop(value: unknown): string[] {
  if (value === undefined) return [];
  return check.array(value, 'stop', 0, MAX_STOPS).map((item, index) => {
    const field = `stop[${index}]`;
    const stop = check.text(item, field);
    if (stop === '') throw invalid(field, 'is empty', 'give at least one character');
    if (stop.length > MAX_STOP_LENGTH)
      throw invalid(field, `has ${stop.length} characters`, `give at most ${MAX_STOP_LENGTH}`);
    return stop;
  });
}

function validateStopTokenIds(value: unknown, vocabSize: number): number[] {
  return value === undefined ? [] : check.ids(value, 'stopTokenIds', vocabSize, 0, vocabSize);
}

function validateGrammar(value: unknown, limits: RequestLimits): OutputGrammar {
  const { type, schema, grammar } = check.object(value, 'grammar');
  if (type !== 'json' && type !== 'json-schema' && type !== 'ebnf')
    throw invalid('grammar.type', `is ${show(type)}`, 'use json, json-schema or ebnf');
  if (limits.grammar !== true)
    throw new TokenglassError(
      'unsupported',
      'Cannot generate by a grammar: this engine does not restrict its tokens; leave grammar out',
      { details: { field: 'grammar' } },
    );
  if (type === 'json-schema') return { type, schema: check.plainObject(schema, 'grammar.schema') };
  return type === 'json' ? { type } : { type, grammar: check.text(grammar, 'grammar.grammar') };
}

function validatePriority(value: unknown = 'normal'): Priority {
  if (!PRIORITIES.has(value))
    throw invalid('priority', `is ${show(value)}`, `use one of ${[...PRIORITIES].join(', ')}`);
  return value as Priority;
}

function validateLogprobs(value: unknown, max: number): number {
  if (value === undefined) return 0;
  const logprobs = check.integer(value, 'logprobs', 0, Number.MAX_SAFE_INTEGER);
  if (logprobs > max)
    throw new TokenglassError(
      max === 0 ? 'unsupported' : 'invalid-request',
      max === 0
        ? 'Cannot generate with logprobs: this backend does not give log-probabilities; leave logprobs out'
        : `Cannot generate: logprobs is ${logprobs}; give at most ${max}`,
      { details: { field: 'logprobs', max } },
    );
  return logprobs;
}

const show = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value;
