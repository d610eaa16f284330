import { TokenglassError, type ErrorCode } from '../../../shared/errors.ts';

/** What a server may say in the body of an error. */
interface ServerFault {
  message?: unknown;
  param?: unknown;
  code?: unknown;
  type?: unknown;
  n_prompt_tokens?: unknown;
  n_ctx?: unknown;
}

const MAX_WORDS = 500;

/** An error of a response that is not 2xx, from its status and body. */
export function errorOfResponse(status: number, body: string): TokenglassError {
  const fault = faultIn(body) ?? {};
  const details = { status, ...(typeof fault.code === 'string' && { apiCode: fault.code }) };
  const said = wordsOf(fault) ?? (looksLikeHtml(body) ? 'it sent a web page' : body.trim().slice(0, MAX_WORDS));
  if (isOverflow(status, fault)) return overflow(fault, said, details);
  const make = (code: ErrorCode, what: string, whatToDo: string): TokenglassError =>
    new TokenglassError(code, `Cannot generate: ${what}${said === '' ? '' : ` ("${said}")`}; ${whatToDo}`, {
      details: { ...details, ...(typeof fault.param === 'string' && { field: fault.param }) },
    });
  if (status === 401 || status === 403)
    return make('network', `the server refuses the key (${status})`, 'give a valid apiKey');
  if (status === 404)
    return make('model-not-found', 'the server has no such model or path (404)', 'check model and baseURL');
  if (status === 429) return make('queue-full', 'the server has too many requests (429)', 'try again later');
  if (status >= 500) return make('network', `the server failed (${status})`, 'try again later');
  return make('invalid-request', `the server refuses the request (${status})`, 'change it');
}

/**
 * An error that came as an event of a stream.
 * @param redact takes keys out of what the server says
 */
export function errorInStream(fault: unknown, redact: (text: string) => string): TokenglassError {
  const words = typeof fault === 'string' ? fault.slice(0, MAX_WORDS) : wordsOf(fault as ServerFault);
  const said = redact(words ?? 'it gave no reason');
  const { code, param } = (typeof fault === 'object' && fault !== null ? fault : {}) as ServerFault;
  return new TokenglassError(
    'network',
    `Cannot go on: the server ended the answer with an error ("${said}"); try again`,
    {
      details: {
        ...(typeof code === 'string' && { apiCode: redact(code) }),
        ...(typeof param === 'string' && { field: redact(param) }),
      },
    },
  );
}

/** `{"error": {...}}` of OpenAI, `{"error": "..."}` of Ollama, `{"message": ...}` of older vLLM. */
function faultIn(body: string): ServerFault | undefined {
  try {
    const parsed = JSON.parse(body) as { error?: unknown; message?: unknown } | null;
    const fault = parsed?.error ?? parsed;
    if (typeof fault === 'string') return { message: fault };
    return typeof fault === 'object' && fault !== null ? fault : undefined;
  } catch {
    return undefined;
  }
}

const wordsOf = (fault: ServerFault | null): string | undefined =>
  typeof fault?.message === 'string' ? fault.message.slice(0, MAX_WORDS) : undefined;

const looksLikeHtml = (body: string): boolean => /^\s*<(?:!doctype|html)/i.test(body);

function isOverflow(status: number, { code, type, message }: ServerFault): boolean {
  if (status === 413 || code === 'context_length_exceeded' || type === 'exceed_context_size_error') return true;
  return (
    status === 400 &&
    typeof message === 'string' &&
    /maximum context length|context (?:size|length|window)/i.test(message)
  );
}

function overflow(fault: ServerFault, said: string, details: Readonly<Record<string, unknown>>): TokenglassError {
  const contextTokens = fault.n_ctx ?? numberIn(said, /maximum context length (?:is|of) (\d+)/i);
  const promptTokens = fault.n_prompt_tokens ?? numberIn(said, /(\d+) (?:in the messages|in the prompt|input tokens)/i);
  return new TokenglassError('context-overflow', `Cannot generate: the prompt does not fit ("${said}"); shorten it`, {
    details: {
      ...details,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(promptTokens !== undefined && { promptTokens }),
    },
  });
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}
