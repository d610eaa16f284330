import { expect } from 'chai';
import { SeededRandom } from '../../models/testing/random.ts';
import type { Engine } from '../../request/engine.ts';
import { answer, type Answer } from './collect.ts';
import type { FakeBackend, FakeBackendOptions } from './fake-backend.ts';
import { drawSchedule, runSchedule, type Schedule, type ScheduledAnswer } from './schedules.ts';

/** Requests of a schedule. */
export const REQUESTS = 8;
/** Context of the engines: more than prompt and answer of any request. */
export const CONTEXT_TOKENS = 160;
const LIMITS = { requests: REQUESTS, firstId: 32, endId: 127, outputTokens: 96, joinSteps: 30 };
/** Schedules of one test, so that a failure names few seeds. */
const GROUP = 25;

interface ScheduleTests<Made extends { engine: Engine; backend: FakeBackend }> {
  /** One for each seed from 0. */
  schedules: number;
  /** Longest prompt. */
  promptTokens: number;
  /** What the requests are compared with, for the names of the tests. */
  reference: string;
  /** Answers the requests one by one. */
  createReference: () => Engine;
  /** Runs the schedule. */
  create: (random: SeededRandom, schedule: Schedule) => Made;
  /** Called when all requests have ended, and the engine is not disposed of yet. */
  onEnded: (made: Made, answers: readonly ScheduledAnswer[], name: string) => void;
}

/** Tests that each request of a random schedule gives what it gives on the reference, and that nothing is left behind. */
export function testSchedules<Made extends { engine: Engine; backend: FakeBackend }>(tests: ScheduleTests<Made>): void {
  for (let first = 0; first < tests.schedules; first += GROUP)
    it(`generate: each of ${REQUESTS} requests that join, leave, abort and are preempted gives what it gives ${tests.reference}, seeds ${first} to ${first + GROUP - 1}`, async () => {
      for (let seed = first; seed < first + GROUP; seed++) await testSchedule(seed, tests);
    });
}

async function testSchedule<Made extends { engine: Engine; backend: FakeBackend }>(
  seed: number,
  { promptTokens, createReference, create, onEnded }: ScheduleTests<Made>,
): Promise<void> {
  const random = new SeededRandom(seed);
  const schedule = drawSchedule(random, { ...LIMITS, promptTokens });
  const expected = await oneByOne(createReference(), schedule);
  const made = create(random, schedule);
  const { engine, backend } = made;
  const answers = await runSchedule(engine, schedule);
  for (const [index, { ids, text, aborted }] of answers.entries()) {
    const { ids: wanted, text: wantedText } = expected[index]!;
    const name = `seed ${seed}, request ${index}`;
    expect(ids, name).to.deep.equal(aborted ? wanted.slice(0, ids.length) : wanted);
    if (aborted) expect(wantedText.startsWith(text), name).to.equal(true);
    else expect(text, name).to.equal(wantedText);
  }
  onEnded(made, answers, `seed ${seed}`);
  expect(backend.openSequences, `seed ${seed}`).to.equal(0);
  expect(backend.usedBlocks, `seed ${seed}`).to.equal(0);
  await engine[Symbol.asyncDispose]();
  expect(backend.kv?.held.size ?? 0, `seed ${seed}`).to.equal(0);
}

async function oneByOne(engine: Engine, { requests }: Schedule): Promise<Answer[]> {
  const answers = [];
  for (const { request } of requests) answers.push(await answer(engine, request));
  await engine[Symbol.asyncDispose]();
  return answers;
}

/** A backend of any width and depth. */
export function drawBackend(random: SeededRandom, kvExport: boolean, kvTokens: number): FakeBackendOptions {
  return {
    contextTokens: CONTEXT_TOKENS,
    kvTokens,
    completion: random.integer(2) === 0 ? 'immediate' : 'task',
    capabilities: {
      kvExport,
      maxBatch: 2 + random.integer(7),
      maxStepTokens: 16 + random.integer(48),
      runAhead: 1 + random.integer(4),
    },
  };
}
