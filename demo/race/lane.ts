import type { EngineInfo, LoadProgress, TokenEvent } from '../../src/index.ts';
import type { RaceEvent } from '../../src/runtime/bench/race.ts';
import type { Sample } from '../../src/runtime/bench/sample.ts';
import { LiveLatencyWindow, percentile } from '../../src/runtime/metrics/index.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { isTokenglassError, TokenglassError } from '../../src/shared/errors.ts';
import type { Stats } from '../../src/ui/dashboard/index.ts';
import { TextStream } from '../../src/ui/index.ts';

export type LanePhase = 'idle' | 'loading' | 'ready' | 'warm-up' | 'running' | 'done' | 'failed' | 'cancelled';

/** What a column shows of its contender; changed by the events of the race. */
export class Lane {
  readonly name: string;
  phase: LanePhase = 'idle';
  progress: LoadProgress | undefined;
  error: TokenglassError | undefined;
  info: EngineInfo | undefined;
  loadMs: number | undefined;
  /** Most bytes that the load told of. */
  loadedBytes = 0;
  /** Of them, those that were on this device already. */
  storedBytes = 0;
  /** Rounds that have ended, and those that were asked for; without warm-up. */
  rounds = 0;
  /** Tokens of the answer that is being written. */
  tokens = 0;
  answer = TextStream.of('');
  readonly samples: Sample[] = [];
  readonly #window = new LiveLatencyWindow();
  #roundAtMs = 0;
  #ttftMs: number | undefined;

  constructor(name: string) {
    this.name = name;
  }

  get measured(): Sample[] {
    return this.samples.filter(({ warmUp }) => !warmUp);
  }

  /** The first request after the load, if it was left out. */
  get cold(): Sample | undefined {
    return this.samples.find(({ warmUp }) => warmUp);
  }

  hear(event: RaceEvent): void {
    switch (event.type) {
      case 'load':
        this.phase = 'loading';
        this.progress = event.progress;
        this.loadedBytes = Math.max(this.loadedBytes, event.progress.loadedBytes);
        this.storedBytes = Math.max(this.storedBytes, event.progress.storedBytes ?? 0);
        break;
      case 'loaded':
        Object.assign(this, { phase: 'ready', progress: undefined, info: event.info, loadMs: event.loadMs });
        break;
      case 'round':
        this.#beginRound(event.warmUp, event.atMs);
        break;
      case 'event':
        this.#hearToken(event.event);
        break;
      case 'measured':
        this.samples.push(event.sample);
        this.rounds = this.measured.length;
        this.answer.close();
        if (this.phase === 'running' || this.phase === 'warm-up') this.phase = 'ready';
        break;
      case 'failed':
        this.#end('failed');
        this.error = asTokenglassError(event.error);
        break;
      case 'done':
        this.#end('done');
        break;
    }
  }

  /** The race is over. */
  stop(): void {
    if (this.phase !== 'done' && this.phase !== 'failed') this.#end('cancelled');
  }

  /** While an answer comes, its own figures; between and after, the medians of what was measured. */
  get stats(): Stats {
    const isLive = this.phase === 'running' || this.phase === 'warm-up';
    const measured = this.measured;
    const latest = measured.at(-1);
    const model = this.info?.model;
    const contextTokens = (latest?.promptTokens ?? 0) + this.tokens;
    const seen = {
      // Libraries do not tell what their KV takes; a sum without it would be none.
      ...(model &&
        model.kvBytesPerToken > 0 && { memoryBytes: model.weightBytes + contextTokens * model.kvBytesPerToken }),
      ...(latest?.promptTokens && { promptTokens: latest.promptTokens, cachedTokens: latest.cachedTokens }),
    };
    if (isLive || measured.length === 0) {
      const live = this.#window.read();
      return {
        ...seen,
        ttftMs: this.#ttftMs,
        msPerToken: live.p50Ms,
        n: live.n,
        tokensPerSecond: live.tokensPerSecond,
      };
    }
    const gaps = measured.flatMap(({ itlMs }) => itlMs);
    const tpotMs = medianOf(measured, ({ tpotMs: value }) => value);
    return {
      ...seen,
      ttftMs: medianOf(measured, ({ ttftMs }) => ttftMs),
      msPerToken: percentile(gaps, 50),
      n: gaps.length,
      tokensPerSecond: tpotMs && 1000 / tpotMs,
      prefillTokensPerSecond: medianOf(measured, (sample) => sample.prefillTokensPerSecond),
    };
  }

  /** How long the first token of this round is being waited for, ms; absent once it is there. */
  get waitedMs(): number | undefined {
    const isLive = this.phase === 'running' || this.phase === 'warm-up';
    return isLive && this.#ttftMs === undefined ? systemClock.now() - this.#roundAtMs : undefined;
  }

  #beginRound(warmUp: boolean, atMs: number): void {
    this.phase = warmUp ? 'warm-up' : 'running';
    this.answer.close();
    this.answer = new TextStream();
    this.tokens = 0;
    this.#ttftMs = undefined;
    this.#roundAtMs = atMs;
    this.#window.clear();
    this.#window.breakGap();
  }

  #hearToken(event: TokenEvent): void {
    if (event.type !== 'delta') return;
    const nowMs = systemClock.now();
    if (event.text !== '') this.#ttftMs ??= nowMs - this.#roundAtMs;
    this.answer.append(event.text);
    const times = event.tokens.length
      ? event.tokens.map(({ atMs }) => atMs)
      : Array<number>(event.tokenCount ?? 0).fill(nowMs);
    for (const atMs of times) this.#window.token(atMs);
    this.tokens += times.length;
  }

  #end(phase: LanePhase): void {
    this.phase = phase;
    this.progress = undefined;
    this.answer.close();
  }
}

const medianOf = (samples: readonly Sample[], pick: (sample: Sample) => number | undefined): number | undefined =>
  percentile(
    samples.flatMap((sample) => pick(sample) ?? []),
    50,
  );

function asTokenglassError(error: unknown): TokenglassError {
  if (error instanceof TokenglassError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isTokenglassError(error)) return new TokenglassError(error.code, message, { cause: error });
  return new TokenglassError('internal', `Cannot race: ${message}; choose another contender`, { cause: error });
}
