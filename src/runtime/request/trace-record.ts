import type { Clock } from '../../shared/clock.ts';
import type { Usage } from '../../shared/generation.ts';
import type { StepTrace, RequestMarks, RequestTrace } from '../../shared/trace.ts';

/** Collects what {@link RequestTrace} says of one request, stamp by stamp. */
export class TraceRecord {
  readonly requestId: string;
  readonly #clock: Clock;
  readonly #isHidden: (sinceMs: number) => boolean;
  readonly #marks: RequestMarks;
  readonly #tokenTimesMs: number[] = [];
  #promptTokens = 0;
  #resumedTokens = 0;
  #cached: Usage['cachedByTier'];
  #prefillMs: number | undefined;
  #detokenizeMs: number | undefined;
  #seed: number | undefined;
  #preemptions = 0;
  #hidden = false;
  #drafted = 0;
  #accepted = 0;

  constructor(requestId: string, calledMs: number, clock: Clock, isHidden: (sinceMs: number) => boolean) {
    this.requestId = requestId;
    this.#clock = clock;
    this.#isHidden = isHidden;
    this.#marks = { calledMs };
    this.#look();
  }

  /** The request was taken off the queue. */
  started(): void {
    this.#marks.startedMs = this.#clock.now();
  }

  /** @param resumedTokens output tokens of an answer that was cut short, computed like a prompt */
  tokenized(promptTokens: number, resumedTokens = 0): void {
    this.#marks.tokenizedMs = this.#clock.now();
    this.#promptTokens = promptTokens + resumedTokens;
    this.#resumedTokens = resumedTokens;
  }

  /** The prefix cache was looked up, and the sequence has the KV that was found. */
  cacheReady(cached: NonNullable<Usage['cachedByTier']>): void {
    this.#marks.cacheReadyMs = this.#clock.now();
    this.#cached = cached;
  }

  /** It gave its KV up, to go on later. */
  preempted(): void {
    this.#preemptions += 1;
  }

  /** So many tokens were drafted, and are verified. */
  drafted(tokens: number): void {
    this.#drafted += tokens;
  }

  /** A draft is part of the output. */
  draftAccepted(): void {
    this.#accepted += 1;
  }

  /** @param seed absent for greedy decoding */
  sampledWith(seed: number | undefined): void {
    this.#seed = seed;
  }

  /**
   * A prefill chunk's result was there.
   * @param ownMs since the chunk was given, or since the step before it ended if that is later: steps in flight together are not counted twice
   */
  prefillStep(ownMs: number): void {
    this.#prefillMs = (this.#prefillMs ?? 0) + Math.max(0, ownMs);
  }

  /** That of the last chunk, at `atMs`: its compute ended before its sampling and readback, as far as those can be told from it. */
  prefilled({ timing: { sampleMs = 0, readbackMs = 0, gpuMs } }: StepTrace, atMs: number, ownMs: number): void {
    // Both have waited for the steps in flight before it; and without the GPU's time, readback is mostly computing.
    const afterMs = sampleMs + (gpuMs === undefined ? 0 : Math.min(readbackMs, Math.max(0, ownMs - gpuMs - sampleMs)));
    const earliestMs = this.#marks.cacheReadyMs ?? this.#marks.tokenizedMs ?? this.#marks.calledMs;
    this.#marks.prefilledMs = Math.max(earliestMs, atMs - afterMs);
  }

  token(atMs: number): void {
    this.#marks.firstTokenMs ??= atMs;
    this.#marks.lastTokenMs = atMs;
    this.#tokenTimesMs.push(atMs);
    this.#look();
  }

  /** Does the work that makes text of a token, and counts its time. */
  detokenizing<Result>(work: () => Result): Result {
    const fromMs = this.#clock.now();
    const result = work();
    this.#detokenizeMs = (this.#detokenizeMs ?? 0) + this.#clock.now() - fromMs;
    return result;
  }

  /**
   * A delta left. One without text (half a character, an end token) is the last delivery for the time being, but never the first. Engine
   * and caller are one realm here; a worker's client overwrites the deliveries with its own times.
   */
  delta(text: string): void {
    const nowMs = this.#clock.now();
    this.#marks.lastDeliveredMs = nowMs;
    if (text === '') return;
    this.#marks.firstDeltaMs ??= nowMs;
    this.#marks.firstDeliveredMs ??= nowMs;
  }

  finish(): RequestTrace {
    this.#look();
    this.#marks.endedMs = this.#clock.now();
    return {
      requestId: this.requestId,
      marks: { ...this.#marks },
      usage: {
        promptTokens: this.#promptTokens,
        cachedTokens: this.#cached ? this.#cached.memory + this.#cached.stored : 0,
        completionTokens: this.#tokenTimesMs.length,
        ...(this.#cached && { cachedByTier: this.#cached }),
        ...(this.#drafted > 0 && { draftedTokens: this.#drafted, acceptedTokens: this.#accepted }),
        ...(this.#resumedTokens > 0 && { resumedTokens: this.#resumedTokens }),
      },
      tokenTimesMs: [...this.#tokenTimesMs],
      ...(this.#prefillMs !== undefined && { prefillMs: this.#prefillMs }),
      ...(this.#detokenizeMs !== undefined && { detokenizeMs: this.#detokenizeMs }),
      ...(this.#seed !== undefined && { seed: this.#seed }),
      ...(this.#preemptions > 0 && { preemptions: this.#preemptions }),
      hidden: this.#hidden,
    };
  }

  #look(): void {
    this.#hidden ||= this.#isHidden(this.#marks.calledMs);
  }
}
