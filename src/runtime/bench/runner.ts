import { systemClock, type Clock } from '../../shared/clock.ts';
import { isTokenglassError } from '../../shared/errors.ts';
import type { GenerateRequest } from '../../shared/generation.ts';
import type { Engine } from '../engine/engine.ts';
import { computeFigures } from './figures.ts';
import { fitPrompt } from './fit-prompt.ts';
import type { Conditions, Run, Slo } from './report.ts';
import { measureRequest, toSample, type Sample } from './sample.ts';

/** What to run on each engine. */
export interface Workload {
  /** Prompt tokens of each request, template included; ignored when `promptText` is given. */
  promptTokens: number;
  /** A prompt of the caller's instead of one of exact length. */
  promptText?: string;
  /** Output tokens of each request; generation goes on past end tokens to reach it, unless `promptText` is given. */
  outputTokens: number;
  /** Measured requests. */
  requests: number;
  warmUpRequests: number;
  temperature: number;
  seed: number;
  /** Leave out the chat template. */
  raw: boolean;
  slo: Slo;
}

/** Limits of an answer that feels like a chat: the first token within 300 ms, then reading speed. */
export const CHAT_SLO: Slo = { name: 'chat', ttftMs: 300, tpotMs: 40 };

export interface RunnerHooks {
  /** After each request, warm-up included. */
  onSample?: (done: number, of: number) => void;
  signal?: AbortSignal;
  clock?: Clock;
}

/** One engine on its way through a workload; {@link next} is called in turns when several engines are compared. */
export class EngineRun {
  readonly total: number;
  readonly #engine: Engine;
  readonly #workload: Workload;
  readonly #clock: Clock;
  readonly #samples: Sample[] = [];
  readonly #failures: { index: number; code: string; message: string }[] = [];
  #index = 0;
  #startMs: number | undefined;
  #measuredFromMs: number | undefined;
  #busyMs = 0;

  constructor(engine: Engine, workload: Workload, clock: Clock = systemClock) {
    this.#engine = engine;
    this.#workload = workload;
    this.#clock = clock;
    this.total = workload.warmUpRequests + workload.requests;
  }

  get isDone(): boolean {
    return this.#index >= this.total;
  }

  /** Runs the next request; a request that fails is recorded, not thrown. */
  async next(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const index = this.#index++;
    const warmUp = index < this.#workload.warmUpRequests;
    const request = await this.#request(index);
    const startMs = this.#clock.now();
    this.#startMs ??= startMs;
    if (!warmUp) this.#measuredFromMs ??= startMs;
    try {
      const measured = await measureRequest(this.#engine, request, this.#clock);
      this.#samples.push(toSample(measured, { index, warmUp, runStartMs: this.#startMs }));
    } catch (error) {
      const code = isTokenglassError(error) ? error.code : error instanceof Error ? error.name : 'unknown';
      this.#failures.push({ index, code, message: error instanceof Error ? error.message : String(error) });
    }
    if (!warmUp) this.#busyMs += this.#clock.now() - startMs;
  }

  result(): Run {
    const measured = this.#samples.filter(({ warmUp }) => !warmUp);
    const failures = this.#failures.filter(({ index }) => index >= this.#workload.warmUpRequests);
    return {
      conditions: conditionsOf(this.#engine, this.#workload),
      durationMs: this.#busyMs,
      requests: { completed: measured.length, failed: failures.length },
      failures: this.#failures,
      figures: computeFigures(measured, this.#busyMs, this.#workload.slo),
      samples: this.#samples,
    };
  }

  async #request(index: number): Promise<GenerateRequest> {
    const { promptTokens, promptText, outputTokens, raw, temperature, seed } = this.#workload;
    const input =
      promptText === undefined
        ? await fitPrompt(this.#engine, promptTokens, { raw, variant: index })
        : raw
          ? { prompt: promptText }
          : { messages: [{ role: 'user' as const, content: promptText }] };
    return {
      ...input,
      maxTokens: outputTokens,
      ignoreEos: promptText === undefined,
      sampling: { temperature, seed: seed + index, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 },
    };
  }
}

/** Runs the engines in turns (A B A B ...), so that a drift of the machine meets all of them alike. */
export async function runInterleaved(runs: readonly EngineRun[], hooks: RunnerHooks = {}): Promise<Run[]> {
  const of = runs.reduce((sum, run) => sum + run.total, 0);
  let done = 0;
  while (runs.some((run) => !run.isDone)) {
    for (const run of runs) {
      if (run.isDone) continue;
      await run.next(hooks.signal);
      hooks.onSample?.(++done, of);
    }
  }
  return runs.map((run) => run.result());
}

function conditionsOf({ info }: Engine, workload: Workload): Conditions {
  const { id, architecture, quantization, parameters, weightBytes, kvBytesPerToken } = info.model;
  return {
    model: { id, architecture, quantization, parameters, weightBytes, kvBytesPerToken },
    engine: {
      name: info.engine,
      version: info.version,
      reason: info.reason,
      worker: info.worker,
      ...(info.threads !== undefined && { threads: info.threads }),
    },
    ...(info.adapter && { adapter: info.adapter }),
    batch: 1,
    promptLength: { kind: 'fixed', tokens: workload.promptTokens },
    outputLength: { kind: 'fixed', tokens: workload.outputTokens },
    arrivals: { process: 'closed-loop', users: 1, thinkTimeMs: 0 },
    concurrency: 1,
    warmUpRequests: workload.warmUpRequests,
    ...(workload.temperature > 0 && { seed: workload.seed }),
    temperature: workload.temperature,
    chatTemplate: !workload.raw,
    slo: workload.slo,
    prefixCache: { enabled: false },
    speculative: { enabled: false },
  };
}
