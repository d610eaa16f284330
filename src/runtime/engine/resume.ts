import type { ResumableAnswer } from '../../shared/resumable.ts';
import type { JournalEntry, JournalRequest } from '../prefix-cache/journal.ts';
import { createTokenDecoder } from '../text/token-decoder.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import { OutputText } from './output-text.ts';
import type { SequencePlan } from './sequence-plan.ts';
import type { CheckedRequest } from '../request/validate-request.ts';

/** What has to be written down of a request for another engine to go on with it; undefined for one that cannot be gone on with. */
export function journalRequest(
  { input, stop, logprobs, grammar }: CheckedRequest,
  { promptTokens, maxTokens, stopIds, options }: SequencePlan,
): JournalRequest | undefined {
  if (grammar) return undefined; // its state is not in its tokens alone
  return {
    ...('messages' in input && { messages: input.messages }),
    ...('prompt' in input && { prompt: input.prompt }),
    promptTokens: [...promptTokens],
    sampling: options.sampling,
    maxTokens,
    stop,
    stopIds: [...stopIds],
    logprobs,
  };
}

/** The plan of an answer that goes on. */
export function resumePlan({ request, output }: JournalEntry, tokenizer: Tokenizer): SequencePlan {
  const { promptTokens, maxTokens, stop, logprobs } = request;
  const stopIds = new Set(request.stopIds);
  // If the cut came between the last token and the end, that token is sampled again.
  const isOver = output.length >= maxTokens || stopIds.has(output.at(-1) ?? -1);
  const tokens = isOver ? output.slice(0, Math.min(output.length, maxTokens) - 1) : output;
  const text = new OutputText(decoderOf(request, tokenizer), stop);
  return {
    promptTokens,
    resumed: { tokens, text: tokens.map((id) => text.push(id).text).join('') },
    maxTokens: maxTokens - tokens.length,
    stopIds,
    options: { sampling: request.sampling, logprobs },
    text,
    ...(logprobs > 0 && { tokenBytes: (id: number) => tokenizer.tokenBytes(id).slice() }),
  };
}

/** What a page shows of an answer that was cut short. */
export function resumableAnswer({ id, request, output, atMs }: JournalEntry, tokenizer: Tokenizer): ResumableAnswer {
  const decoder = decoderOf(request, tokenizer);
  const { messages, prompt } = request;
  return {
    id,
    ...(messages && { messages }),
    ...(prompt !== undefined && { prompt }),
    text: output.map((token) => decoder.push(token)).join('') + decoder.flush(),
    outputTokens: output.length,
    atMs,
  };
}

/** As the engine decodes the answer to such a request. */
const decoderOf = ({ messages }: JournalRequest, tokenizer: Tokenizer) =>
  createTokenDecoder(tokenizer, { continuesText: messages === undefined });
