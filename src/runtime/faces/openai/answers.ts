import { TokenglassError } from '../../../shared/errors.ts';
import type { GenerateRequest, TokenEvent } from '../../../shared/generation.ts';
import type { Engine } from '../../request/engine.ts';
import { mergeStreams } from './merge-streams.ts';

/** An event of one of the answers. */
export interface AnswerEvent {
  /** Of the answer. */
  index: number;
  item: TokenEvent;
}

/** About the call of the API. */
export interface CallOptions {
  /** Ends the answers. */
  signal?: AbortSignal;
  /** When it was made. */
  calledAtMs: number;
}

/** Answers under way; what goes wrong before the first one begins has been thrown. */
export interface Answers {
  events: AsyncGenerator<AnswerEvent, void, undefined>;
  /** Ends all of them; `events` then throws `AbortError`. Needed where `events` may never be read. */
  controller: AbortController;
}

/**
 * Asks the engine for `n` answers to each request, and resolves when the first has begun: until then an error is one of the
 * request. Every answer is a request of its own in the engine's queue.
 */
export async function startAnswers(
  engine: Engine,
  requests: readonly GenerateRequest[],
  n: number,
  { signal, calledAtMs }: CallOptions,
): Promise<Answers> {
  const controller = new AbortController();
  const joined = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
  const streams = requests.flatMap((request) =>
    Array.from({ length: n }, (_, index) => {
      const events = engine.generate({ ...withSeed(request, index), calledAtMs }, joined);
      return events[Symbol.asyncIterator]();
    }),
  );
  try {
    const first = await streams[0]!.next();
    return { events: answerEvents(streams, first, controller), controller };
  } catch (error) {
    controller.abort();
    throw error;
  }
}

async function* answerEvents(
  streams: readonly AsyncIterator<TokenEvent>[],
  first: IteratorResult<TokenEvent>,
  controller: AbortController,
): AsyncGenerator<AnswerEvent, void, undefined> {
  try {
    if (first.done !== true) yield { index: 0, item: first.value };
    yield* mergeStreams(streams);
  } finally {
    controller.abort();
  }
}

/** With a seed, each further answer takes the next one: the same answers again, but not the same one n times. */
function withSeed(request: GenerateRequest, index: number): GenerateRequest {
  const seed = request.sampling?.seed;
  if (seed === undefined || index === 0) return request;
  return { ...request, sampling: { ...request.sampling, seed: (seed + index) >>> 0 } };
}

export function unended(): never {
  throw new TokenglassError('internal', 'Cannot tell the usage: the engine ended an answer without saying so');
}
