import type { Engine, EngineInfo, GenerateRequest, RequestTrace, TokenEvent, Usage } from '../../../src/index.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { abortError, TokenglassError } from '../../../src/shared/errors.ts';
import { EventQueue } from '../../../src/shared/event-queue.ts';
import { partlyKnownModel } from '../../../src/shared/model-number.ts';
import type { Racer, RacerDelta, RacerEnd, RacerFacts } from './racer.ts';

/** An {@link Engine} over a library, so that races, reports and comparisons see no difference. It answers greedily, and takes messages only. */
export function racerEngine(racer: Racer): Engine {
  let requests = 0;
  return {
    info: infoOf(racer.facts),
    metrics: { on: () => () => undefined },
    generate(request, signal) {
      const left = new AbortController();
      const queue = new EventQueue<TokenEvent>({ onAbandon: () => left.abort(), ...(signal && { signal }) });
      const stopped = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
      run(racer, `${racer.facts.name}-${requests++}`, request, queue, stopped).then(
        () => queue.end(),
        (error: unknown) => queue.end(stopped.aborted ? abortError(stopped) : error),
      );
      return queue;
    },
    // Asked before a request of the caller's own words, whose count the answer then tells.
    countTokens: () => Promise.resolve(0),
    dispose: () => racer.dispose(),
    [Symbol.asyncDispose]: () => racer.dispose(),
  };
}

function infoOf({ name, version, model, precision, modelBytes, adapter, threads, reason }: RacerFacts): EngineInfo {
  return {
    engine: name,
    version,
    model: partlyKnownModel({
      id: model,
      quantization: precision,
      weightBytes: modelBytes,
      fingerprint: `${name}/${model}`,
    }),
    ...(adapter && { adapter }),
    ...(threads !== undefined && { threads }),
    reason,
    worker: true,
  };
}

async function run(
  racer: Racer,
  requestId: string,
  { messages, maxTokens = 256, calledAtMs }: GenerateRequest,
  queue: EventQueue<TokenEvent>,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = systemClock.now();
  if (!messages)
    throw new TokenglassError('unsupported', `Cannot generate: ${racer.facts.name} is raced with messages; give some`);
  const log = new AnswerLog();
  const onDelta = (delta: RacerDelta): void => {
    log.add(delta);
    const { text, ids, count, atMs } = delta;
    const isStart = log.deltas === 1;
    if (isStart) queue.push({ type: 'start', requestId, promptTokens: 0, cachedTokens: 0 });
    queue.push({
      type: 'delta',
      text,
      tokens: ids?.map((id) => ({ id, atMs })) ?? [],
      ...(!ids && { tokenCount: count }),
    });
  };
  const end = await racer.generate({ messages, maxTokens, signal, onDelta });
  const trace = log.trace(requestId, { calledMs: calledAtMs ?? startedMs, startedMs }, end);
  queue.push({ type: 'end', finishReason: end.finishReason, usage: trace.usage, trace });
}

/** What of an answer goes into its trace. */
class AnswerLog {
  deltas = 0;
  readonly #tokenTimesMs: number[] = [];
  #firstTextMs: number | undefined;
  #lastMs: number | undefined;

  add({ text, count, atMs }: RacerDelta): void {
    const nowMs = systemClock.now();
    this.deltas += 1;
    for (let token = 0; token < count; token++) this.#tokenTimesMs.push(atMs);
    if (text !== '') this.#firstTextMs ??= nowMs;
    this.#lastMs = nowMs;
  }

  trace(requestId: string, marks: { calledMs: number; startedMs: number }, end: RacerEnd): RequestTrace {
    const times = this.#tokenTimesMs;
    const [firstTokenMs, lastTokenMs] = [times[0], times.at(-1)];
    const unknown = (['promptTokens', 'cachedTokens'] as const).filter((name) => end[name] === undefined);
    const usage: Usage = {
      promptTokens: end.promptTokens ?? 0,
      cachedTokens: end.cachedTokens ?? 0,
      completionTokens: times.length,
      ...(unknown.length > 0 && { unknown }),
    };
    return {
      requestId,
      marks: {
        ...marks,
        ...(firstTokenMs !== undefined && { firstTokenMs }),
        ...(lastTokenMs !== undefined && { lastTokenMs }),
        ...(this.#firstTextMs !== undefined && {
          firstDeltaMs: this.#firstTextMs,
          firstDeliveredMs: this.#firstTextMs,
        }),
        ...(this.#lastMs !== undefined && { lastDeliveredMs: this.#lastMs }),
      },
      usage,
      tokenTimesMs: times,
      ...(end.prefillMs !== undefined && { prefillMs: end.prefillMs }),
      hidden: document.hidden,
    };
  }
}
