import { expect } from 'chai';
import { createFakeEngine } from './testing/fake-engine.ts';
import { CONTEXT_TOKENS, drawBackend, REQUESTS, testSchedules } from './testing/schedule-tests.ts';

const SCHEDULES = 200;

describe('LocalEngine in a batch', () => {
  let preemptions = 0;
  let aborts = 0;
  let widest = 0;
  testSchedules({
    schedules: SCHEDULES,
    promptTokens: 60,
    reference: 'alone',
    createReference: () =>
      createFakeEngine({ contextTokens: CONTEXT_TOKENS }, { scheduling: { policy: 'latency' } }).engine,
    create: (random, { policy }) => {
      const kvExport = random.integer(3) > 0;
      // Room for one context, or a little more.
      const kvTokens = CONTEXT_TOKENS + 32 * random.integer(random.integer(2) === 0 ? 6 : 24);
      const options = drawBackend(random, kvExport, kvTokens);
      const memoryBytes = (): number => (random.integer(2) === 0 ? 2 ** 30 : 132 * random.integer(12));
      return createFakeEngine(options, {
        scheduling: { policy },
        ...(kvExport && { prefixCache: { memoryBytes: memoryBytes() } }),
      });
    },
    onEnded: ({ backend }, answers) => {
      for (const answer of answers) {
        preemptions += answer.preemptions;
        if (answer.aborted) aborts += 1;
      }
      widest = Math.max(widest, ...backend.given.map((rows) => rows.length));
    },
  });

  it('generate: those schedules had full batches, aborts and preemptions in plenty', () => {
    expect(widest).to.equal(REQUESTS);
    expect(aborts).to.be.above(SCHEDULES / 2);
    expect(preemptions).to.be.above(SCHEDULES / 2);
  });
});
