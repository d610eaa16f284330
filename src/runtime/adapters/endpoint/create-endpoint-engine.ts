import { systemClock, type Clock } from '../../../shared/clock.ts';
import { wasPageHidden } from '../../../shared/page-hidden.ts';
import { isTokenglassError, TokenglassError } from '../../../shared/errors.ts';
import type { EngineInfo } from '../../../shared/info.ts';
import { partlyKnownModel } from '../../../shared/model-number.ts';
import type { Engine } from '../../request/engine.ts';
import { withOpenAi, type OpenAiFace } from '../../faces/openai/create-openai.ts';
import { MAX_TOP_LOGPROBS } from '../../backends/sampling/definition.ts';
import { EndpointEngine } from './endpoint-engine.ts';
import { send, sleepUntilAborted, type SendOptions } from './send.ts';
import { describeServerModel, type Server, type ServerKind, type ServerModel } from './server-kind.ts';

/** Where a server is, and what it runs. */
export interface EndpointOptions {
  /** Of an OpenAI-compatible API, as OpenAI's clients take it: `http://localhost:8000/v1`. */
  baseURL: string;
  /** As the server's list of models has it. */
  model: string;
  /** Sent as a bearer token, and kept nowhere else. A page cannot keep a secret: use one that you may give away. */
  apiKey?: string;
  /** More headers of every request. */
  headers?: Readonly<Record<string, string>>;
  /** Which server it is, where its list of models does not tell. @default found out */
  server?: ServerKind;
  /** Most tokens of prompt and answer together. @default what the server says */
  contextTokens?: number;
  /** Attempts after the first, before any token has come. @default 2 */
  maxRetries?: number;
  /** @default the global one */
  fetch?: (input: string, init: RequestInit) => Promise<Response>;
  /** Waits before another attempt. @default by a timer */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  clock?: Clock;
  /** Why a server is asked, for `info.reason`: "the model does not fit". @default that it was asked for */
  because?: string;
  /** Ends the first question to the server. */
  signal?: AbortSignal;
}

/** No vocabulary that is known has more tokens; ids beyond are mistakes. */
const LARGEST_VOCABULARY = 2 ** 20;
const DEFAULT_RETRIES = 2;

/**
 * An engine over an OpenAI-compatible server (vLLM, llama.cpp server, Ollama, a hosted API). TTFT and gaps are measured here, with the network; tokens are
 * counted as the server counts them, and what it does not tell is named in `usage.unknown` and `info.model.unknown`.
 *
 * Asks the server for its models first, which tells the kind of server. A server that has no such list is taken as it is.
 *
 * @throws TokenglassError `network` (no server there, a wrong key), `model-not-found`; `AbortError` once `signal` is aborted
 * @example
 * ```ts
 * const engine = await createEndpointEngine({ baseURL: 'http://localhost:8000/v1', model: 'Qwen/Qwen3-4B' });
 * ```
 */
export async function createEndpointEngine(options: EndpointOptions): Promise<Engine & OpenAiFace> {
  const baseURL = checkedUrl(options.baseURL);
  const { model, clock = systemClock, contextTokens } = options;
  const { fetch, redact } = authorized(options);
  const sending: SendOptions = {
    fetch,
    maxRetries: options.maxRetries ?? DEFAULT_RETRIES,
    sleep: options.sleep ?? sleepUntilAborted,
    now: () => clock.now(),
    redact,
  };
  const found = await askForModel(baseURL, model, sending, options.signal);
  const told = { ...found, ...(contextTokens !== undefined && { contextTokens }) };
  const server: Server = { kind: options.server ?? told.kind, baseURL, model, fetch };
  return withOpenAi(
    new EndpointEngine({
      server,
      info: describe(server, told, options.because ?? 'it was asked for'),
      limits: {
        vocabSize: told.vocabSize ?? LARGEST_VOCABULARY,
        contextTokens: told.contextTokens ?? Infinity,
        // The API tells texts of tokens; these servers tell ids beside them, without which there are no tokens to tell of.
        maxLogprobs: server.kind === 'vllm' || server.kind === 'llama.cpp' ? MAX_TOP_LOGPROBS : 0,
        grammar: true,
      },
      sending,
      clock,
      isHidden: wasPageHidden,
    }),
  );
}

function checkedUrl(baseURL: string): string {
  const page = typeof location === 'undefined' ? undefined : location.href;
  if (typeof baseURL !== 'string' || !URL.canParse(baseURL, page))
    throw new TypeError('Cannot reach a server: baseURL is no URL; give one such as http://localhost:8000/v1');
  return new URL(baseURL, page).href.replace(/\/+$/, '');
}

/** Shorter values of headers are no secrets, and would be found in any text. */
const SECRET_CHARACTERS = 8;

/** The key lives in this closure only: no object that could be logged or cloned has it. */
function authorized({
  apiKey,
  headers = {},
  fetch = (input, init) => globalThis.fetch(input, init),
}: EndpointOptions): Pick<SendOptions, 'fetch' | 'redact'> {
  const more = { ...headers, ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }) };
  const values = [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)];
  const secrets = values.filter((value) => value.length >= SECRET_CHARACTERS).sort((a, b) => b.length - a.length);
  return {
    fetch: (input, init) =>
      fetch(input, { ...init, headers: { ...(init.headers as Record<string, string>), ...more } }),
    redact: (text) => secrets.reduce((clean, secret) => clean.replaceAll(secret, '[key]'), text),
  };
}

async function askForModel(
  baseURL: string,
  model: string,
  sending: SendOptions,
  signal = new AbortController().signal,
): Promise<ServerModel> {
  const response = await send(`${baseURL}/models`, { method: 'GET', signal }, sending).catch((error: unknown) => {
    if (isTokenglassError(error) && [404, 405, 501].includes(error.details['status'] as number)) return undefined;
    throw error;
  });
  if (!response) return { kind: 'other' };
  const list: unknown = await response.json().catch(() => undefined);
  if (!Array.isArray((list as { data?: unknown } | undefined)?.data)) return { kind: 'other' };
  const found = describeServerModel(list, model);
  if (found) return found;
  throw new TokenglassError(
    'model-not-found',
    `Cannot use the model ${JSON.stringify(model)}: the server does not list it; see ${baseURL}/models`,
    { details: { model } },
  );
}

function describe({ kind, baseURL, model }: Server, told: Omit<ServerModel, 'kind'>, because: string): EngineInfo {
  const { host } = new URL(baseURL);
  const name = kind === 'other' ? 'a server' : kind;
  return {
    engine: 'endpoint',
    version: kind,
    model: partlyKnownModel({ id: model, ...told, fingerprint: `${host}/${model}` }),
    reason: `Runs on ${name} at ${host}, not on this device, because ${because}.`,
    worker: false,
  };
}
