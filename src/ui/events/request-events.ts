import type { TokenglassError } from '../../shared/errors.ts';
import type { FinishReason, OutputToken } from '../../shared/generation.ts';
import type { RequestTrace } from '../../shared/trace.ts';

const COMPOSED = { bubbles: true, composed: true } as const;

/** A request was sent to the engine. `calledMs` is what TTFT counts from (see `Clock`). */
export class TgRequestStartEvent extends Event {
  static readonly type = 'tg-request-start';
  readonly runId: number;
  readonly calledMs: number;

  constructor(detail: { runId: number; calledMs: number }) {
    super(TgRequestStartEvent.type, COMPOSED);
    this.runId = detail.runId;
    this.calledMs = detail.calledMs;
  }
}

/** The engine took the request off its queue and begins to read the prompt. */
export class TgPrefillEvent extends Event {
  static readonly type = 'tg-prefill';
  readonly runId: number;
  readonly requestId: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;

  constructor(detail: { runId: number; requestId: string; promptTokens: number; cachedTokens: number }) {
    super(TgPrefillEvent.type, COMPOSED);
    this.runId = detail.runId;
    this.requestId = detail.requestId;
    this.promptTokens = detail.promptTokens;
    this.cachedTokens = detail.cachedTokens;
  }
}

/** The first text reached the page. */
export class TgFirstTokenEvent extends Event {
  static readonly type = 'tg-first-token';
  readonly runId: number;
  /** From the call to this delivery, ms. */
  readonly ttftMs: number;

  constructor(detail: { runId: number; ttftMs: number }) {
    super(TgFirstTokenEvent.type, COMPOSED);
    this.runId = detail.runId;
    this.ttftMs = detail.ttftMs;
  }
}

/** Text and tokens reached the page. One event a delta, so a listener should only take notes. */
export class TgTokensEvent extends Event {
  static readonly type = 'tg-tokens';
  readonly runId: number;
  readonly text: string;
  readonly tokens: readonly OutputToken[];
  /** When the page had them (see `Clock`). */
  readonly deliveredMs: number;

  constructor(detail: { runId: number; text: string; tokens: readonly OutputToken[]; deliveredMs: number }) {
    super(TgTokensEvent.type, COMPOSED);
    this.runId = detail.runId;
    this.text = detail.text;
    this.tokens = detail.tokens;
    this.deliveredMs = detail.deliveredMs;
  }
}

/** A request ended, by itself or because it was stopped. */
export class TgRequestEndEvent extends Event {
  static readonly type = 'tg-request-end';
  readonly runId: number;
  readonly outcome: 'completed' | 'aborted';
  readonly text: string;
  /** Absent if the request was stopped. */
  readonly finishReason: FinishReason | undefined;
  /** With the times of delivery to the page; absent if the request was stopped. */
  readonly trace: RequestTrace | undefined;

  constructor(detail: {
    runId: number;
    outcome: 'completed' | 'aborted';
    text: string;
    finishReason?: FinishReason | undefined;
    trace?: RequestTrace | undefined;
  }) {
    super(TgRequestEndEvent.type, COMPOSED);
    this.runId = detail.runId;
    this.outcome = detail.outcome;
    this.text = detail.text;
    this.finishReason = detail.finishReason;
    this.trace = detail.trace;
  }
}

/** A request failed. The message is a sentence that can be shown; act on `error.code`. */
export class TgErrorEvent extends Event {
  static readonly type = 'tg-error';
  readonly runId: number;
  readonly error: TokenglassError;

  constructor(detail: { runId: number; error: TokenglassError }) {
    super(TgErrorEvent.type, COMPOSED);
    this.runId = detail.runId;
    this.error = detail.error;
  }
}

/** What `<tg-chat>` dispatches while it generates. */
export interface RequestEventMap {
  'tg-request-start': TgRequestStartEvent;
  'tg-prefill': TgPrefillEvent;
  'tg-first-token': TgFirstTokenEvent;
  'tg-tokens': TgTokensEvent;
  'tg-request-end': TgRequestEndEvent;
  'tg-error': TgErrorEvent;
}

declare global {
  interface HTMLElementEventMap {
    'tg-request-start': TgRequestStartEvent;
    'tg-prefill': TgPrefillEvent;
    'tg-first-token': TgFirstTokenEvent;
    'tg-tokens': TgTokensEvent;
    'tg-request-end': TgRequestEndEvent;
    'tg-error': TgErrorEvent;
  }
}
