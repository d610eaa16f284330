import { expect } from 'chai';
import { SeededRandom } from '../models/testing/random.ts';
import { answer } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import type { FakeBackendOptions } from './testing/fake-backend.ts';
import { drawSchedule, runSchedule, type Schedule } from './testing/schedules.ts';

const SCHEDULES = 200;
/** Schedules of one test, so that a failure names few seeds. */
const GROUP = 25;
const CONTEXT = 160;
const LIMITS = { requests: 8, firstId: 32, endId: 127, promptTokens: 60, outputTokens: 96, joinSteps: 30 };

/** What each request gives on an engine that does nothing else. */
async function alone({ requests }: Schedule): Promise<{ ids: number[]; text: string }[]> {
  const { engine } = createFakeEngine({ contextTokens: CONTEXT }, { scheduling: { policy: 'latency' } });
  const answers = [];
  for (const { request } of requests) answers.push(await answer(engine, request));
  await engine[Symbol.asyncDispose]();
  return answers;
}

describe('LocalEngine in a batch', function () {
  this.timeout(60_000);

  let preemptions = 0;
  let aborts = 0;
  let widest = 0;
  for (let first = 0; first < SCHEDULES; first += GROUP)
    it(`generate: each of 8 requests that join, leave, abort and are preempted gives what it gives alone, seeds ${first} to ${first + GROUP - 1}`, async () => {
      for (let seed = first; seed < first + GROUP; seed++) {
        const random = new SeededRandom(seed);
        const schedule = drawSchedule(random, LIMITS);
        const expected = await alone(schedule);
        const { options, prefixCache } = drawBackend(random);
        const { engine, backend } = createFakeEngine(options, {
          scheduling: { policy: schedule.policy },
          ...(prefixCache !== undefined && { prefixCache: { memoryBytes: prefixCache } }),
        });
        const answers = await runSchedule(engine, schedule);
        for (const [index, { ids, text, aborted, preemptions: times }] of answers.entries()) {
          const { ids: wanted, text: wantedText } = expected[index]!;
          const name = `seed ${seed}, request ${index}`;
          expect(ids, name).to.deep.equal(aborted ? wanted.slice(0, ids.length) : wanted);
          if (aborted) expect(wantedText.startsWith(text), name).to.equal(true);
          else expect(text, name).to.equal(wantedText);
          preemptions += times;
          if (aborted) aborts += 1;
        }
        widest = Math.max(widest, ...backend.given.map((rows) => rows.length));
        expect(backend.openSequences, `seed ${seed}`).to.equal(0);
        expect(backend.usedBlocks, `seed ${seed}`).to.equal(0);
        await engine[Symbol.asyncDispose]();
        expect(backend.kv?.held.size ?? 0, `seed ${seed}`).to.equal(0);
      }
    });

  it('generate: those schedules had full batches, aborts and preemptions in plenty', () => {
    expect(widest).to.equal(LIMITS.requests);
    expect(aborts).to.be.above(SCHEDULES / 2);
    expect(preemptions).to.be.above(SCHEDULES / 2);
  });
});

/** A backend with room for one context, or a little more. */
function drawBackend(random: SeededRandom): { options: FakeBackendOptions; prefixCache?: number } {
  const kvExport = random.integer(3) > 0;
  return {
    options: {
      contextTokens: CONTEXT,
      kvTokens: CONTEXT + 32 * random.integer(random.integer(2) === 0 ? 6 : 24),
      completion: random.integer(2) === 0 ? 'immediate' : 'task',
      capabilities: {
        kvExport,
        maxBatch: 2 + random.integer(7),
        maxStepTokens: 16 + random.integer(48),
        runAhead: 1 + random.integer(4),
      },
    },
    ...(kvExport && { prefixCache: random.integer(2) === 0 ? 2 ** 30 : 132 * random.integer(12) }),
  };
}
