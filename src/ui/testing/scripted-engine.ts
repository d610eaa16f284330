import { abortError, TokenglassError } from '../../shared/errors.ts';
import { systemClock } from '../../shared/clock.ts';
import type { GenerateRequest, OutputToken, TokenEvent } from '../../shared/generation.ts';
import type { EngineInfo } from '../../shared/info.ts';
import type { ResumableAnswer } from '../../shared/resumable.ts';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import type { Engine, EngineEvents, EngineMetrics } from '../../runtime/request/engine.ts';

export interface ScriptedAnswer {
  /** Text of each token, in order. */
  tokens: readonly string[];
  /** Waits before the token of that index; nothing is waited for by default. */
  pace?: (index: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Text of an earlier run, which comes first and without tokens. */
  before?: string;
  /** Thrown after the tokens instead of an end event. */
  error?: TokenglassError;
}

/** The reply to a request; asked once for each. */
export type Script = (request: GenerateRequest, call: number) => ScriptedAnswer;

export const scriptedInfo: EngineInfo = {
  engine: 'onnx-wasm',
  version: '0.1.0',
  model: {
    id: 'tutor',
    architecture: 'llama',
    quantization: 'q4',
    layers: 8,
    hiddenSize: 256,
    heads: 4,
    kvHeads: 2,
    headDim: 64,
    vocabSize: 2048,
    contextTokens: 2048,
    parameters: 6_500_000,
    weightBytes: 3_700_000,
    kvBytesPerToken: 8192,
    fingerprint: 'scripted',
  },
  threads: 2,
  reason: 'CPU (WebAssembly, 2 threads), because this browser has only a software GPU here, which is slower',
  worker: true,
};

/** An Engine that says what a script tells it to. For tests and for pages that show how things look. */
export class ScriptedEngine implements Engine {
  readonly info: EngineInfo;
  readonly metrics: EngineMetrics;
  /** Every request so far. */
  readonly requests: GenerateRequest[] = [];
  readonly resumable?: NonNullable<Engine['resumable']>;
  readonly resume?: NonNullable<Engine['resume']>;
  readonly discard?: NonNullable<Engine['discard']>;
  readonly #script: Script;
  readonly #listeners = {
    step: new Set<(e: StepTrace) => void>(),
    request: new Set<(e: EngineEvents['request']) => void>(),
  };

  /** @param cut - answers that were cut short; absent for an engine that takes none down */
  constructor(script: Script, info: EngineInfo = scriptedInfo, cut?: ResumableAnswer[]) {
    this.#script = script;
    if (cut) {
      const take = (id: string): ResumableAnswer | undefined =>
        cut.splice(cut.findIndex((answer) => answer.id === id) >>> 0, 1)[0];
      this.resumable = () => Promise.resolve([...cut]);
      this.discard = (id) => Promise.resolve(void take(id));
      this.resume = (id, signal) => {
        const answer = take(id);
        const request = { prompt: `resume ${id}` };
        this.requests.push(request);
        const script: ScriptedAnswer = answer
          ? this.#script(request, this.requests.length)
          : {
              tokens: [],
              error: new TokenglassError('invalid-request', 'Cannot go on: there is no such answer; ask again'),
            };
        return this.#play(
          `scripted-${this.requests.length}`,
          request,
          { ...script, before: answer?.text ?? '' },
          signal,
        );
      };
    }
    this.info = info;
    this.metrics = {
      on: (type, listener) => {
        const set = this.#listeners[type] as Set<typeof listener>;
        set.add(listener);
        return () => set.delete(listener);
      },
    };
  }

  /** Listeners on metrics now; 0 once every element has let go. */
  get listenerCount(): number {
    return this.#listeners.step.size + this.#listeners.request.size;
  }

  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    this.requests.push(request);
    const answer = this.#script(request, this.requests.length);
    return this.#play(`scripted-${this.requests.length}`, request, answer, signal);
  }

  async *#play(
    requestId: string,
    request: GenerateRequest,
    answer: ScriptedAnswer,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<TokenEvent> {
    const calledMs = request.calledAtMs ?? systemClock.now();
    const promptTokens = 24;
    const startedMs = systemClock.now();
    const times: number[] = [];
    const trace = (): RequestTrace => ({
      requestId,
      marks: {
        calledMs,
        startedMs,
        tokenizedMs: startedMs,
        cacheReadyMs: startedMs,
        ...(times.length > 0 && {
          prefilledMs: times[0]!,
          firstTokenMs: times[0]!,
          firstDeltaMs: times[0]!,
          lastTokenMs: times.at(-1)!,
        }),
      },
      usage: { promptTokens, cachedTokens: 0, completionTokens: times.length },
      tokenTimesMs: times,
      ...(times.length > 0 && { prefillMs: times[0]! - startedMs }),
      hidden: false,
    });
    let outcome: EngineEvents['request']['outcome'] = 'aborted';
    try {
      yield { type: 'start', requestId, promptTokens, cachedTokens: 0 };
      if (answer.before) yield { type: 'delta', text: answer.before, tokens: [] };
      for (const [index, text] of answer.tokens.entries()) {
        const stepMs = systemClock.now();
        await answer.pace?.(index, signal);
        if (signal?.aborted) throw abortError(signal);
        const atMs = systemClock.now();
        times.push(atMs);
        this.#emitStep(index, stepMs, atMs, promptTokens);
        yield { type: 'delta', text, tokens: [{ id: index, atMs } satisfies OutputToken] };
      }
      if (answer.error) {
        outcome = 'failed';
        throw answer.error;
      }
      outcome = 'completed';
      yield { type: 'end', finishReason: 'stop', usage: trace().usage, trace: trace() };
    } finally {
      for (const listener of this.#listeners.request) listener({ outcome, trace: trace() });
    }
  }

  #emitStep(index: number, startedAtMs: number, atMs: number, promptTokens: number): void {
    const step: StepTrace = {
      kind: index === 0 ? 'prefill' : 'decode',
      startedAtMs,
      timing: { totalMs: atMs - startedAtMs },
      batch: 1,
      tokens: index === 0 ? promptTokens : 1,
      contextTokens: promptTokens + index,
    };
    for (const listener of this.#listeners.step) listener(step);
  }

  async countTokens(): Promise<number> {
    return Promise.resolve(24);
  }

  async dispose(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
