import { systemClock, type Clock } from '../../shared/clock.ts';
import type { FinishReason, GenerateRequest } from '../../shared/generation.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import type { Engine } from '../engine/engine.ts';

/** One request as it was measured: the raw material of every figure in a report. */
export interface Sample {
  /** Position in the run, warm-up requests included. */
  index: number;
  warmUp: boolean;
  /** Whether the page was hidden during it; such samples stay out of percentiles. */
  hidden: boolean;
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  finishReason: FinishReason;
  ttftMs?: number;
  ttftPartsMs?: Readonly<Record<string, number | undefined>>;
  itlMs: readonly number[];
  tpotMs?: number;
  e2eMs?: number;
  /** Computed prompt tokens / prefill compute time. */
  prefillTokensPerSecond?: number;
  /** When the request was called and each output token was known, ms since the start of the run. */
  calledMs: number;
  tokenTimesMs: readonly number[];
  text: string;
  ids: readonly number[];
}

/** What {@link measureRequest} saw, before it is put in relation to a run. */
export interface Measured {
  trace: RequestTrace;
  finishReason: FinishReason;
  text: string;
  ids: readonly number[];
}

/** Sends one request and reads it to its end. @throws what the engine throws */
export async function measureRequest(
  engine: Engine,
  request: GenerateRequest,
  clock: Clock = systemClock,
): Promise<Measured> {
  let text = '';
  const ids: number[] = [];
  for await (const event of engine.generate({ ...request, calledAtMs: clock.now() })) {
    if (event.type === 'delta') {
      text += event.text;
      for (const token of event.tokens) ids.push(token.id);
    } else if (event.type === 'end') return { trace: event.trace, finishReason: event.finishReason, text, ids };
  }
  throw new TypeError('Cannot measure the request: the engine ended it without an end event');
}
