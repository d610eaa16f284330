import type { OutputToken, TokenLogprob } from '../../../shared/generation.ts';
import type { ChatLogprobs, TopLogprob } from './chat-shapes.ts';
import type { CompletionLogprobs } from './completion-shapes.ts';

/** @param top most likely tokens to tell with each */
export function chatLogprobs(tokens: readonly OutputToken[], top: number): ChatLogprobs['content'] {
  return shown(tokens).map((token) => ({
    ...named(token),
    top_logprobs: mostLikely(token, top).map(named),
  }));
}

/** @param offset where the first of the tokens begins in the text of the answer */
export function completionLogprobs(tokens: readonly OutputToken[], top: number, offset: number): CompletionLogprobs {
  const logprobs: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
  let at = offset;
  for (const token of shown(tokens)) {
    const text = textOf(token);
    logprobs.tokens.push(text);
    logprobs.token_logprobs.push(token.logprob);
    const most = mostLikely(token, top);
    logprobs.top_logprobs.push(Object.fromEntries(most.map((entry) => [textOf(entry), entry.logprob])));
    logprobs.text_offset.push(at);
    at += text.length;
  }
  return logprobs;
}

const mostLikely = ({ topLogprobs, topTexts }: OutputToken, top: number): readonly Told[] =>
  (topLogprobs ?? topTexts ?? []).slice(0, top);

/** A token by its id, by its text, or by both. */
type Told = Partial<Pick<TokenLogprob, 'id' | 'bytes'>> & { logprob: number };

/** An end token is no part of the answer. */
const shown = (tokens: readonly OutputToken[]): (OutputToken & { logprob: number })[] =>
  tokens.filter(
    (token): token is OutputToken & { logprob: number } => token.logprob !== undefined && token.bytes?.length !== 0,
  );

const named = (token: Told): TopLogprob => ({
  token: textOf(token),
  logprob: token.logprob,
  bytes: token.bytes === undefined ? null : [...token.bytes],
});

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Control tokens have no text, so they are told by their ids, in vLLM's way. */
function textOf({ id, bytes }: Omit<Told, 'logprob'>): string {
  if (bytes !== undefined && (bytes.length > 0 || id === undefined)) return utf8.decode(bytes);
  return `token_id:${id ?? 'unknown'}`;
}
