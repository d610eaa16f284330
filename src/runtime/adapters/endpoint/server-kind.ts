import type { Fetch } from './send.ts';

/**
 * Servers whose ways beyond OpenAI's API are known. `openai`: OpenAI's own, which refuses what it does not know; `other`: only what is
 * common to all is sent.
 */
export type ServerKind = 'vllm' | 'llama.cpp' | 'ollama' | 'openai' | 'other';

/** What a server tells of a model; whatever it does not tell is absent. */
export interface ServerModel {
  kind: ServerKind;
  /** Most tokens of prompt and answer together. */
  contextTokens?: number;
  vocabSize?: number;
  hiddenSize?: number;
  parameters?: number;
  weightBytes?: number;
}

/** What `owned_by` says in the list of models. */
const OWNERS: Readonly<Record<string, ServerKind>> = {
  vllm: 'vllm',
  llamacpp: 'llama.cpp',
  library: 'ollama',
  system: 'openai',
  openai: 'openai',
};

interface ListedModel {
  id?: unknown;
  owned_by?: unknown;
  max_model_len?: unknown;
  meta?: Readonly<Record<string, unknown>> | null;
}

/** Reads the answer to `GET /models`. @returns nothing where the model is not in the list */
export function describeServerModel(list: unknown, model: string): ServerModel | undefined {
  const data = (list as { data?: unknown } | null)?.data;
  const listed = (Array.isArray(data) ? (data as ListedModel[]) : []).find(({ id }) => id === model);
  if (!listed) return undefined;
  const { owned_by: owner, max_model_len: maxModelLen, meta } = listed;
  const known = {
    contextTokens: positive(maxModelLen) ?? positive(meta?.['n_ctx']),
    vocabSize: positive(meta?.['n_vocab']),
    hiddenSize: positive(meta?.['n_embd']),
    parameters: positive(meta?.['n_params']),
    weightBytes: positive(meta?.['size']),
  };
  const kind = typeof owner === 'string' ? (OWNERS[owner] ?? 'other') : 'other';
  return { kind, ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) };
}

const positive = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;

/** How a server is spoken to. */
export interface Server {
  kind: ServerKind;
  /** Without a slash at the end: `http://localhost:8000/v1`. */
  baseURL: string;
  model: string;
  fetch: Fetch;
}
