import type { Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type { EventQueue } from '../../../shared/event-queue.ts';
import type { OutputToken, TokenEvent, Usage } from '../../../shared/generation.ts';
import type { RequestMarks, RequestTrace } from '../../../shared/trace.ts';
import { ChunkReader, type ChunkNews } from './chunk-reader.ts';
import { broken, readEvents } from './read-events.ts';

/** One answer of a server: its chunks to events, and what is measured of it on this side. */
export class EndpointRun {
  readonly requestId: string;
  /** That was sent; absent for greedy decoding. */
  readonly seed: number | undefined;
  readonly #queue: EventQueue<TokenEvent>;
  readonly #clock: Clock;
  readonly #isHidden: (sinceMs: number) => boolean;
  readonly #reader: ChunkReader;
  readonly #marks: RequestMarks;
  /** Arrivals of tokens that could be counted. */
  readonly #tokenTimesMs: number[] = [];
  #hasStarted = false;
  #hidden = false;

  constructor(
    requestId: string,
    calledMs: number,
    seed: number | undefined,
    queue: EventQueue<TokenEvent>,
    clock: Clock,
    isHidden: (sinceMs: number) => boolean,
    redact: (text: string) => string,
  ) {
    this.#reader = new ChunkReader(redact);
    this.requestId = requestId;
    this.#marks = { calledMs };
    this.seed = seed;
    this.#queue = queue;
    this.#clock = clock;
    this.#isHidden = isHidden;
    this.#hidden = isHidden(calledMs);
  }

  /** The request is sent; the last attempt counts, so that waiting for a busy server is time in the queue. */
  sent(): void {
    this.#marks.startedMs = this.#clock.now();
  }

  /** Reads a response to its end. @throws TokenglassError where it breaks off, is none, or carries an error */
  async read(response: Response): Promise<void> {
    const events = readEvents(response);
    let next = await events.next();
    for (; next.done !== true; next = await events.next()) this.#accept(this.#reader.read(next.value));
    if (this.#reader.finishReason === undefined)
      throw next.value.done ? noReason() : broken('the server closed the connection');
  }

  /** Pushes the end. @returns the trace of the whole */
  complete(): RequestTrace {
    const trace = this.trace();
    const { finishReason, stopString } = this.#reader;
    this.#queue.push({
      type: 'end',
      finishReason: finishReason!,
      ...(stopString !== undefined && { stopString }),
      usage: trace.usage,
      trace,
    });
    return trace;
  }

  /** What was measured of it by the time it ended. */
  trace(): RequestTrace {
    const usage = this.#usage();
    // Times of some of the tokens would make gaps of several look like gaps of one.
    const tokenTimesMs = this.#tokenTimesMs.length === usage.completionTokens ? [...this.#tokenTimesMs] : [];
    return {
      requestId: this.requestId,
      marks: { ...this.#marks, endedMs: this.#clock.now() },
      usage,
      tokenTimesMs,
      ...(this.seed !== undefined && { seed: this.seed }),
      hidden: this.#hidden,
    };
  }

  #accept(news: ChunkNews): void {
    const nowMs = this.#clock.now();
    this.#hidden ||= this.#isHidden(this.#marks.calledMs);
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      const { promptTokens = 0, cachedTokens = 0 } = this.#reader.usage;
      this.#queue.push({ type: 'start', requestId: this.requestId, promptTokens, cachedTokens });
    }
    const count = this.#countOf(news);
    if (count === 0 && news.text === '') return; // a chunk with the role, or with the usage
    for (let token = 0; token < count; token++) this.#tokenTimesMs.push(nowMs);
    this.#stamp(news.text, nowMs);
    const tokens = (news.ids ?? []).map((id, index): OutputToken => ({ ...news.logprobs?.[index], id, atMs: nowMs }));
    const uncounted = tokens.length === 0 && count > 0 ? { tokenCount: count } : {};
    this.#queue.push({ type: 'delta', text: news.text, tokens, ...uncounted });
  }

  /** Tokens of a chunk: its ids, or what a running count has grown by; 0 where nobody tells. */
  #countOf({ ids, completionTokens }: ChunkNews): number {
    if (ids) return ids.length;
    // A count that comes only with the end is that of the whole answer, and not that of its chunk.
    if (completionTokens === undefined || (this.#tokenTimesMs.length === 0 && this.#marks.firstDeltaMs !== undefined))
      return 0;
    return Math.max(0, completionTokens - this.#tokenTimesMs.length);
  }

  #stamp(text: string, nowMs: number): void {
    this.#marks.firstTokenMs ??= nowMs;
    this.#marks.lastTokenMs = nowMs;
    this.#marks.lastDeliveredMs = nowMs;
    if (text === '') return;
    this.#marks.firstDeltaMs ??= nowMs;
    this.#marks.firstDeliveredMs ??= nowMs;
  }

  #usage(): Usage {
    const told = this.#reader.usage;
    const counted = this.#tokenTimesMs.length > 0 ? { completionTokens: this.#tokenTimesMs.length } : {};
    // A server that tells its usage and no cached tokens has found none, or keeps it to itself: none were told.
    const known = { ...(told.promptTokens !== undefined && { cachedTokens: 0 }), ...counted, ...told };
    const unknown = (['promptTokens', 'cachedTokens', 'completionTokens'] as const).filter((name) => !(name in known));
    return {
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
      ...known,
      ...(unknown.length > 0 && { unknown }),
    };
  }
}

const noReason = (): TokenglassError =>
  new TokenglassError('network', 'Cannot go on: the server ended the answer without saying why; try again');
