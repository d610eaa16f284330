import type { Clock } from '../../../shared/clock.ts';
import type { EventQueue } from '../../../shared/event-queue.ts';
import type { FinishReason, OutputToken, TokenEvent, Usage } from '../../../shared/generation.ts';
import type { RequestTrace, StepTrace } from '../../../shared/trace.ts';
import { StopMatcher } from '../../request/stop-matcher.ts';
import type { TraceRecord } from '../../request/trace-record.ts';
import type { CheckedRequest } from '../../request/validate-request.ts';
import { EMPTY_THOUGHT } from './conversation.ts';
import type { MlcChunk } from './library.ts';
import type { LogitProbe } from './logit-probe.ts';
import type { MlcPipeline } from './pipeline.ts';

/** What one answer is made of. */
export interface WebLlmRunParts {
  record: TraceRecord;
  checked: CheckedRequest;
  queue: EventQueue<TokenEvent>;
  clock: Clock;
  /** The library writes an empty thought in front. */
  noThinking: boolean;
  /** The counts that the library tells have the first token in them. */
  countsFirstToken: boolean;
  /** Absent for an engine in the library's worker: no ids, no times of tokens, no length of the prompt. */
  pipeline?: MlcPipeline;
  probe?: LogitProbe;
  onStep?: (step: StepTrace) => void;
}

/** One answer of the library: its chunks and tokens to events, stop strings, and what is measured. */
export class WebLlmRun {
  /** Nothing more of this answer is wanted: what still comes is drained. */
  isOver = false;
  readonly #parts: WebLlmRunParts;
  readonly #stops: StopMatcher;
  readonly #filledBefore: number;
  /** Sampled, and not in a delta yet. */
  #tokens: OutputToken[] = [];
  #count = 0;
  #decodeSeconds = 0;
  #prompt: { promptTokens: number; cachedTokens: number } | undefined;
  #hasStarted = false;
  #finish: { finishReason: FinishReason; stopString?: string } | undefined;
  #told: MlcChunk['usage'];
  /** What is left to take off the front of the text. */
  #front: string;
  /** Of an answer whose tokens cannot be seen. */
  #textTimes: { firstMs: number; lastMs: number } | undefined;

  constructor(parts: WebLlmRunParts) {
    this.#parts = parts;
    this.#stops = new StopMatcher(parts.checked.stop);
    this.#filledBefore = parts.pipeline?.filledKVCacheLength ?? 0;
    this.#front = parts.noThinking ? EMPTY_THOUGHT : '';
  }

  /** The pipeline has sampled a token. */
  token(id: number): void {
    if (this.isOver) return;
    const { record, clock, probe, checked } = this.#parts;
    const nowMs = clock.now();
    this.#step(nowMs);
    record.token(nowMs);
    this.#count += 1;
    this.#tokens.push({ id, atMs: nowMs, ...probe?.tell(id) });
    if (checked.stopTokenIds.includes(id)) {
      this.#finish = { finishReason: 'stop' };
      this.#delta(this.#stops.flush()); // the text of the token itself is not shown
      this.isOver = true;
    }
  }

  /** A chunk has come. */
  accept(chunk: MlcChunk): void {
    if (chunk.usage) this.#told = chunk.usage;
    if (this.isOver) return;
    const choice = chunk.choices[0];
    if (!choice) return;
    const text = this.#withoutFront(choice.delta?.content ?? choice.text ?? '');
    const match = this.#stops.push(text);
    if (match.stopString !== undefined) {
      this.#finish = { finishReason: 'stop', stopString: match.stopString };
      this.isOver = true;
    } else if (typeof choice.finish_reason === 'string' && choice.finish_reason !== 'abort') {
      this.#finish = { finishReason: choice.finish_reason === 'length' ? 'length' : 'stop' };
    }
    const rest = this.#finish && match.stopString === undefined ? this.#stops.flush() : '';
    this.#delta(match.text + rest);
  }

  /** True once it is known how the answer ends; false for one that was interrupted from outside. */
  get isComplete(): boolean {
    return this.#finish !== undefined;
  }

  /** Pushes the end. @returns the trace of the whole */
  complete(): RequestTrace {
    this.#start();
    const trace = this.trace();
    this.#parts.queue.push({ type: 'end', ...this.#finish!, usage: trace.usage, trace });
    return trace;
  }

  /** What was measured so far. */
  trace(): RequestTrace {
    const trace = this.#parts.record.finish();
    const usage = this.#usage();
    if (this.#textTimes) {
      trace.marks.firstTokenMs = this.#textTimes.firstMs;
      trace.marks.lastTokenMs = this.#textTimes.lastMs;
    }
    return { ...trace, usage };
  }

  /** Times of the step behind a token, by the library's own clock where it has one. */
  #step(nowMs: number): void {
    const { pipeline, record, onStep } = this.#parts;
    if (!pipeline) return;
    const contextTokens = pipeline.filledKVCacheLength;
    if (this.#prompt === undefined) {
      const computed = pipeline.getCurRoundPrefillTotalTokens();
      // KV of earlier turns is kept only as a whole; tokens of a prefix that the library does not count are not of a cache.
      const reused = this.#filledBefore > 0 && contextTokens === this.#filledBefore + computed;
      this.#prompt = { promptTokens: contextTokens, cachedTokens: reused ? this.#filledBefore : 0 };
      const step = stepOf('prefill', nowMs, pipeline.getCurRoundPrefillTotalTime(), computed, contextTokens);
      const ownMs = step.timing.totalMs;
      record.prefillStep(ownMs);
      record.prefilled(step, nowMs, ownMs);
      onStep?.(step);
      return;
    }
    const seconds = pipeline.getCurRoundDecodingTotalTime();
    onStep?.(stepOf('decode', nowMs, seconds - this.#decodeSeconds, 1, contextTokens));
    this.#decodeSeconds = seconds;
  }

  #withoutFront(text: string): string {
    if (this.#front === '') return text;
    const shared = this.#front.startsWith(text.slice(0, this.#front.length))
      ? Math.min(text.length, this.#front.length)
      : 0;
    this.#front = shared === 0 ? '' : this.#front.slice(shared);
    return text.slice(shared);
  }

  #start(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const { queue, record } = this.#parts;
    const { promptTokens = 0, cachedTokens = 0 } = this.#prompt ?? {};
    queue.push({ type: 'start', requestId: record.requestId, promptTokens, cachedTokens });
  }

  #delta(text: string): void {
    if (text === '' && this.#tokens.length === 0) return;
    const { queue, record, clock, pipeline } = this.#parts;
    this.#start();
    record.delta(text);
    if (!pipeline) {
      const nowMs = clock.now();
      this.#textTimes = { firstMs: this.#textTimes?.firstMs ?? nowMs, lastMs: nowMs };
    }
    const tokens = this.#tokens;
    this.#tokens = [];
    queue.push({ type: 'delta', text, tokens });
  }

  #usage(): Usage {
    const { pipeline, countsFirstToken } = this.#parts;
    if (pipeline) {
      const { promptTokens = 0, cachedTokens = 0 } = this.#prompt ?? {};
      return { promptTokens, cachedTokens, completionTokens: this.#count };
    }
    // The prompt that it counts is what was computed: with KV of earlier turns used again, that is not the prompt.
    const completionTokens = countsFirstToken ? this.#told?.completion_tokens : undefined;
    const unknown = ['promptTokens', 'cachedTokens', ...(completionTokens === undefined ? ['completionTokens'] : [])];
    return {
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: completionTokens ?? 0,
      unknown: unknown as NonNullable<Usage['unknown']>,
    };
  }
}

function stepOf(
  kind: StepTrace['kind'],
  nowMs: number,
  seconds: number,
  tokens: number,
  contextTokens: number,
): StepTrace {
  const totalMs = Math.max(0, seconds * 1000);
  return { kind, startedAtMs: nowMs - totalMs, timing: { totalMs }, batch: 1, tokens, contextTokens };
}
