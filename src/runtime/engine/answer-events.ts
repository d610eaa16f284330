import type { EventQueue } from '../../shared/event-queue.ts';
import type { FinishReason, OutputToken, TokenEvent } from '../../shared/generation.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import type { SampledToken } from '../backends/backend.ts';
import type { SequencePlan } from './sequence-plan.ts';
import type { TraceRecord } from '../request/trace-record.ts';

/** What the consumer of one answer gets: its start, its deltas, its end. */
export class AnswerEvents {
  readonly #record: TraceRecord;
  readonly #queue: EventQueue<TokenEvent>;
  readonly #plan: SequencePlan;

  constructor(record: TraceRecord, queue: EventQueue<TokenEvent>, plan: SequencePlan) {
    this.#record = record;
    this.#queue = queue;
    this.#plan = plan;
  }

  /** @param promptTokens with those of the answer that is resumed, as they are computed like a prompt */
  start(promptTokens: number, cachedTokens: number): void {
    const { promptTail, resumed } = this.#plan;
    this.#queue.push({
      type: 'start',
      requestId: this.#record.requestId,
      promptTokens,
      cachedTokens,
      ...(promptTail !== undefined && { promptTail }),
    });
    if (resumed && resumed.text !== '') this.#queue.push({ type: 'delta', text: resumed.text, tokens: [] });
  }

  /** @returns what stops the answer, if the token does */
  token(
    id: number,
    { logprob, topLogprobs }: Partial<SampledToken>,
    atMs: number,
  ): { stopString?: string } | undefined {
    const { stopIds, text, tokenBytes } = this.#plan;
    const token: OutputToken = {
      id,
      atMs,
      ...(logprob !== undefined && { logprob }),
      ...(topLogprobs !== undefined && {
        topLogprobs: tokenBytes ? topLogprobs.map((top) => ({ ...top, bytes: tokenBytes(top.id) })) : topLogprobs,
      }),
      ...(tokenBytes && { bytes: tokenBytes(id) }),
    };
    if (stopIds.has(id)) {
      this.#delta('', [token]);
      return {};
    }
    const { text: shown, stopString } = this.#record.detokenizing(() => text.push(id));
    this.#delta(shown, [token]);
    return stopString === undefined ? undefined : { stopString };
  }

  /** @param stopString the one that ended the answer; without it, text that was held back is shown */
  complete(finishReason: FinishReason, stopString?: string): RequestTrace {
    let matched = stopString;
    let reason = finishReason;
    if (matched === undefined) {
      const tail = this.#plan.text.flush();
      if (tail.text !== '') this.#delta(tail.text, []);
      matched = tail.stopString;
      if (matched !== undefined) reason = 'stop';
    }
    const trace = this.#record.finish();
    this.#queue.push({
      type: 'end',
      finishReason: reason,
      ...(matched !== undefined && { stopString: matched }),
      usage: trace.usage,
      trace,
    });
    this.#queue.end();
    return trace;
  }

  #delta(text: string, tokens: readonly OutputToken[]): void {
    this.#record.delta(text);
    this.#queue.push({ type: 'delta', text, tokens });
  }
}
