import type { GenerateRequest } from '../../../shared/generation.ts';
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
} from './read-common.ts';

/** A request for text completions, checked. */
export interface CompletionJob extends CommonJob {
  /** One a prompt; without what tells the answers of `n` apart. */
  requests: readonly GenerateRequest[];
  /** Most likely tokens to tell with each; absent: no log-probabilities. */
  topLogprobs?: number;
}

const FIELDS = { ...COMMON_FIELDS, prompt: true, echo: true, best_of: true } as const;
const REFUSED = { suffix: 'leave it out', response_format: 'use chat completions', tools: 'use chat completions' };
const MAX_PROMPTS = 128;
const MAX_IDS = 1_000_000;
/** OpenAI's. */
const DEFAULT_TOKENS = 16;

/** Checks a body of `/v1/completions`. @throws TokenglassError `invalid-request`, `unsupported`, `model-not-found` */
export function readCompletion(body: unknown, modelId: string): CompletionJob {
  const fields = readFields(body);
  refuseOthers(fields, FIELDS, REFUSED);
  checkModel(fields['model'], modelId);
  if (check.optionalBoolean(fields['echo'], 'echo')) throw unsupported('echo', 'leave it out');
  const common = readCommon(fields);
  if (fields['best_of'] !== undefined && check.integer(fields['best_of'], 'best_of', 1, 128) !== common.n)
    throw unsupported('best_of', 'leave it out, or give what n is');
  const logprobs = fields['logprobs'] === undefined ? undefined : readTopLogprobs(fields['logprobs'], 'logprobs');
  const shared: GenerateRequest = {
    ...readGeneration(fields),
    maxTokens: readLength(fields, 'max_tokens') ?? DEFAULT_TOKENS,
    ...(logprobs !== undefined && { logprobs: Math.max(1, logprobs) }),
  };
  return {
    ...common,
    requests: readPrompts(fields['prompt']).map((prompt) => ({ ...shared, ...prompt })),
    ...(logprobs !== undefined && { topLogprobs: logprobs }),
  };
}

function readPrompts(value: unknown): Pick<GenerateRequest, 'prompt' | 'promptTokens'>[] {
  if (!Array.isArray(value)) return [{ prompt: readPrompt(value, 'prompt') }];
  if (typeof value[0] === 'number') return [{ promptTokens: readIds(value, 'prompt') }];
  return check.array(value, 'prompt', 1, MAX_PROMPTS).map((item, index) => {
    const field = `prompt[${index}]`;
    return Array.isArray(item) ? { promptTokens: readIds(item, field) } : { prompt: readPrompt(item, field) };
  });
}

function readPrompt(value: unknown, field: string): string {
  const prompt = check.text(value, field);
  if (prompt === '') throw invalid(field, 'is empty', 'give at least one character');
  return prompt;
}

const readIds = (value: unknown, field: string): number[] => check.ids(value, field, 2 ** 32, 1, MAX_IDS);
