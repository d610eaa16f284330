import type { OutputToken, TextLogprob, TokenLogprob } from '../../../shared/generation.ts';

/** A token with its log-probability, as a server tells it; the id is not among what OpenAI's API has. */
export interface ToldToken extends Pick<OutputToken, 'logprob' | 'topLogprobs' | 'topTexts' | 'bytes'> {
  id?: number;
}

/** Log-probabilities of a chunk: those of chat, and those of text completions. */
export interface ServerLogprobs {
  content?: readonly ServerToken[] | null;
  tokens?: readonly string[] | null;
  token_logprobs?: readonly (number | null)[] | null;
  top_logprobs?: readonly (Readonly<Record<string, number>> | null)[] | null;
}

interface ServerToken {
  /** llama.cpp. */
  id?: number;
  token?: string;
  logprob?: number | null;
  bytes?: readonly number[] | null;
  top_logprobs?: readonly ServerToken[] | null;
}

const utf8 = new TextEncoder();

/** In the order of the tokens; none where the server tells none. */
export function readLogprobs(told: ServerLogprobs | null | undefined): ToldToken[] {
  if (Array.isArray(told?.content))
    return (told.content as ServerToken[]).map((token) => ({
      ...one(token),
      ...tops((token.top_logprobs ?? []).map(one)),
    }));
  return (told?.tokens ?? []).map((token, index) => ({
    ...one({ token, logprob: told?.token_logprobs?.[index] ?? null }),
    topTexts: Object.entries(told?.top_logprobs?.[index] ?? {})
      .map(([text, logprob]) => one({ token: text, logprob }))
      .sort((a, b) => b.logprob - a.logprob),
  }));
}

function tops(tokens: readonly (TextLogprob & { id?: number })[]): Pick<ToldToken, 'topLogprobs' | 'topTexts'> {
  const haveIds = tokens.length > 0 && tokens.every(({ id }) => id !== undefined);
  return haveIds ? { topLogprobs: tokens as readonly TokenLogprob[] } : { topTexts: tokens };
}

function one({ id, token, logprob, bytes }: ServerToken): TextLogprob & { id?: number } {
  return {
    ...(typeof id === 'number' && { id }),
    // A certain token has 0; servers leave out what they do not know.
    logprob: typeof logprob === 'number' ? logprob : -Infinity,
    bytes: Array.isArray(bytes) ? Uint8Array.from(bytes as number[]) : utf8.encode(token ?? ''),
  };
}
