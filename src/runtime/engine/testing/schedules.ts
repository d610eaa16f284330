import type { GenerateRequest, Priority, SamplingParams } from '../../../shared/generation.ts';
import type { SchedulingPolicy } from '../../../shared/info.ts';
import type { SeededRandom } from '../../models/testing/random.ts';
import type { Engine } from '../../request/engine.ts';

/** A request of a schedule, and when it joins and leaves. */
interface ScheduledRequest {
  request: GenerateRequest;
  /** Joins once the engine has made so many steps since the first, or has nothing else to do. */
  afterSteps: number;
  /** Is aborted once it has given so many tokens; it may end before. */
  abortAfter?: number;
}

/** Many requests at once, at random. */
export interface Schedule {
  policy: SchedulingPolicy;
  requests: readonly ScheduledRequest[];
}

interface ScheduleLimits {
  requests: number;
  /** Ids from `firstId` to before `endId` are drawn for prompts. */
  firstId: number;
  endId: number;
  promptTokens: number;
  outputTokens: number;
  /** Steps within which requests join. */
  joinSteps: number;
}

const PRIORITIES: readonly Priority[] = ['high', 'normal', 'normal', 'low'];
const POLICIES: readonly SchedulingPolicy[] = ['balanced', 'throughput', 'balanced', 'latency'];

const pick = <Item>(random: SeededRandom, items: readonly Item[]): Item => items[random.integer(items.length)]!;

/** Requests of different prompts, lengths, seeds and sampling. Some prompts begin alike, as with a system prompt. */
export function drawSchedule(random: SeededRandom, limits: ScheduleLimits): Schedule {
  const { firstId, endId } = limits;
  const ids = (length: number): number[] => Array.from({ length }, () => firstId + random.integer(endId - firstId));
  const shared = ids(Math.floor(limits.promptTokens * 0.7));
  const requests = Array.from({ length: limits.requests }, (): ScheduledRequest => {
    const length = 1 + random.integer(limits.promptTokens);
    const promptTokens = random.integer(3) === 0 ? [...shared, ...ids(3)].slice(0, length) : ids(length);
    const outputTokens = 1 + random.integer(limits.outputTokens);
    return {
      request: {
        promptTokens,
        maxTokens: outputTokens,
        ignoreEos: random.integer(4) > 0,
        sampling: drawSampling(random),
        priority: pick(random, PRIORITIES),
      },
      afterSteps: random.integer(limits.joinSteps),
      ...(random.integer(4) === 0 && { abortAfter: random.integer(outputTokens) }),
    };
  });
  return { policy: pick(random, POLICIES), requests };
}

function drawSampling(random: SeededRandom): SamplingParams {
  if (random.integer(3) === 0) return { temperature: 0 };
  return {
    temperature: 0.4 + random.integer(12) / 10,
    seed: random.uint32(),
    ...(random.integer(2) === 0 && { topK: 1 + random.integer(60) }),
    ...(random.integer(2) === 0 && { topP: 0.5 + random.integer(50) / 100 }),
    ...(random.integer(2) === 0 && { repetitionPenalty: 1 + random.integer(5) / 10 }),
    ...(random.integer(2) === 0 && { frequencyPenalty: random.integer(10) / 10, presencePenalty: 0.3 }),
  };
}

/** What came of a request of a schedule. */
export interface ScheduledAnswer {
  ids: number[];
  text: string;
  aborted: boolean;
  preemptions: number;
}

/** Runs a schedule; rejects if a request fails. */
export async function runSchedule(engine: Engine, { requests }: Schedule): Promise<ScheduledAnswer[]> {
  const queue = requests
    .map((scheduled, index) => ({ ...scheduled, index }))
    .sort((a, b) => a.afterSteps - b.afterSteps);
  const running = new Map<number, Promise<void>>();
  const answers: ScheduledAnswer[] = [];
  let steps = 0;
  const join = (most: number): void => {
    for (let next; (next = queue[0]) && next.afterSteps <= most;) {
      queue.shift();
      const { index } = next;
      const run = follow(engine, next).then((answer) => {
        answers[index] = answer;
        running.delete(index);
      });
      run.catch(() => undefined);
      running.set(index, run);
    }
  };
  const stop = engine.metrics.on('step', () => join(++steps));
  while (queue.length > 0 || running.size > 0) {
    if (running.size === 0) join(queue[0]!.afterSteps);
    await Promise.race(running.values());
  }
  stop();
  return answers;
}

async function follow(engine: Engine, { request, abortAfter = Infinity }: ScheduledRequest): Promise<ScheduledAnswer> {
  const answer: ScheduledAnswer = { ids: [], text: '', aborted: false, preemptions: 0 };
  const controller = new AbortController();
  const stop = (): void => {
    if (answer.ids.length >= abortAfter) controller.abort();
  };
  try {
    for await (const event of engine.generate(request, controller.signal)) {
      if (event.type === 'end') answer.preemptions = event.trace.preemptions ?? 0;
      if (event.type === 'delta') {
        answer.ids.push(...event.tokens.map(({ id }) => id));
        answer.text += event.text;
      }
      stop();
    }
  } catch (error) {
    if (!controller.signal.aborted || (error as Error).name !== 'AbortError') throw error;
    answer.aborted = true;
  }
  return answer;
}
