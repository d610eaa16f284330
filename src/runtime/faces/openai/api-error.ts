import { isTokenglassError, TokenglassError, type ErrorCode } from '../../../shared/errors.ts';

/** An error as OpenAI's API tells it. */
export interface ApiErrorBody {
  error: {
    message: string;
    type: 'invalid_request_error' | 'server_error' | 'rate_limit_error' | 'not_found_error' | 'request_aborted';
    /** The field that is wrong: `messages[0].role`. */
    param: string | null;
    code: string | null;
  };
}

export interface ApiError {
  status: number;
  body: ApiErrorBody;
}

type Kind = readonly [status: number, type: ApiErrorBody['error']['type'], code: string | null];

const KINDS: Partial<Record<ErrorCode, Kind>> = {
  'invalid-request': [400, 'invalid_request_error', null],
  unsupported: [400, 'invalid_request_error', 'unsupported_parameter'],
  'context-overflow': [400, 'invalid_request_error', 'context_length_exceeded'],
  'model-not-found': [404, 'not_found_error', 'model_not_found'],
  'queue-full': [429, 'rate_limit_error', 'queue_full'],
  timeout: [408, 'server_error', 'timeout'],
  disposed: [503, 'server_error', 'disposed'],
  'worker-dead': [503, 'server_error', 'worker_dead'],
  'device-lost': [503, 'server_error', 'device_lost'],
  network: [502, 'server_error', 'network'],
};

/**
 * Status and body for anything that an engine may throw. `details.status` and `details.apiCode` of an error count before those of its
 * code; an abort is 499, what a proxy logs when the client has gone.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof DOMException && error.name === 'AbortError')
    return make([499, 'request_aborted', 'request_aborted'], error.message, null);
  if (!isTokenglassError(error)) return make([500, 'server_error', null], messageOf(error), null);
  const { field, status, apiCode } = error.details;
  const [usualStatus, type, code] = KINDS[error.code] ?? [500, 'server_error', error.code.replaceAll('-', '_')];
  const kind: Kind = [
    typeof status === 'number' ? status : usualStatus,
    type,
    typeof apiCode === 'string' ? apiCode : code,
  ];
  return make(kind, error.message, typeof field === 'string' ? paramOf(field) : null);
}

/** A well-formed parameter that we do not have. */
export function unsupported(field: string, whatToDo: string): TokenglassError {
  return new TokenglassError('unsupported', `Cannot generate: ${field} is not supported here; ${whatToDo}`, {
    details: { field },
  });
}

/** Fields of the engine's requests that have other names here. */
const PARAMS: Readonly<Record<string, string>> = {
  grammar: 'response_format',
  maxTokens: 'max_tokens',
  promptTokens: 'prompt',
};

/** `sampling.logitBias[5]` of the engine is `logit_bias[5]` of the API. */
function paramOf(field: string): string {
  const [, name = '', rest = ''] = /^(?:sampling\.|templateVariables\.)?(\w*)(.*)$/s.exec(field) ?? [];
  return (PARAMS[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) + rest;
}

const make = ([status, type, code]: Kind, message: string, param: string | null): ApiError => ({
  status,
  body: { error: { message, type, param, code } },
});

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
