import type { GenerateRequest, OutputToken, TokenEvent } from '../../../shared/generation.ts';
import type { Engine, EngineEvents } from '../../request/engine.ts';

type StartEvent = Extract<TokenEvent, { type: 'start' }>;
type EndEvent = Extract<TokenEvent, { type: 'end' }>;

/** One whole answer. */
export interface Answer {
  text: string;
  tokens: OutputToken[];
  ids: number[];
  /** Texts of all deltas. */
  deltas: string[];
  start: StartEvent;
  end: EndEvent;
}

/** Reads an answer to its end, and checks that events come as one `start`, deltas, one `end`. */
export async function collect(events: AsyncIterable<TokenEvent>): Promise<Answer> {
  let start: StartEvent | undefined;
  let end: EndEvent | undefined;
  const deltas: string[] = [];
  const tokens: OutputToken[] = [];
  for await (const event of events) {
    if (end) throw new Error(`"${event.type}" came after the end`);
    if (event.type === 'start') {
      if (start) throw new Error('start came twice');
      start = event;
      continue;
    }
    if (!start) throw new Error(`"${event.type}" came before the start`);
    if (event.type === 'end') end = event;
    else {
      deltas.push(event.text);
      tokens.push(...event.tokens);
    }
  }
  if (!start || !end) throw new Error('the iteration ended without a start or an end');
  return { text: deltas.join(''), tokens, ids: tokens.map(({ id }) => id), deltas, start, end };
}

/** {@link collect} of a request. */
export const answer = (engine: Engine, request: GenerateRequest, signal?: AbortSignal): Promise<Answer> =>
  collect(engine.generate(request, signal));

/** What a promise rejects with; fails if it does not. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error & { code?: string };
  }
  throw new Error('expected a rejection, but it was fulfilled');
}

/** The next event of a type: subscribes now, and gives it up when it has come. */
export function nextEvent<Type extends keyof EngineEvents>(engine: Engine, type: Type): Promise<EngineEvents[Type]> {
  return new Promise((resolve) => {
    const stop = engine.metrics.on(type, (event) => {
      stop();
      resolve(event);
    });
  });
}

/** Lets everything run that is ready: more tasks than any chain of promises here takes. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
}
