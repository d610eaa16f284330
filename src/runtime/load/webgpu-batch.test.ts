import { expect } from 'chai';
import { systemClock } from '../../shared/clock.ts';
import type { StepRow } from '../backends/backend.ts';
import { sequenceOptions } from '../backends/testing/run-tokens.ts';
import { createWebGpuBackend } from '../backends/webgpu/create-webgpu-backend.ts';
import type { WebGpuBackend } from '../backends/webgpu/webgpu-backend.ts';
import { createEngineFromParts, type LocalEngineParts } from '../engine/local-engine.ts';
import { answer } from '../engine/testing/collect.ts';
import { drawSchedule, runSchedule } from '../engine/testing/schedules.ts';
import { ggufText, type ModelText } from './model-text.ts';
import { createBuiltInSource, TUTOR_GGUF } from '../models/builtin.ts';
import { SeededRandom } from '../models/testing/random.ts';

const TUTOR_FOLDER = new URL('../../../models/tutor/', import.meta.url);
const CONTEXT_TOKENS = 96;
/** Less than half of what 8 requests come to. */
const KV_TOKENS = 192;
const LIMITS = { requests: 8, firstId: 300, endId: 2000, promptTokens: 30, outputTokens: 64, joinSteps: 12 };
const SEEDS = [1, 10];

describe('webgpu backend in a batch, on the tutor', () => {
  let backend: WebGpuBackend;
  let text: ModelText;

  before(async () => {
    backend = await createWebGpuBackend({
      source: createBuiltInSource(TUTOR_FOLDER),
      path: TUTOR_GGUF,
      contextTokens: CONTEXT_TOKENS,
      maxBatch: LIMITS.requests,
      kvTokens: KV_TOKENS,
      onHeader: ({ metadata }) => (text = ggufText(metadata)),
    });
  });

  after(() => backend.dispose());

  /** An engine of the one backend, which outlives it. */
  function makeEngine(more: Partial<LocalEngineParts>) {
    const { version, model } = backend.info;
    const steps: Promise<unknown>[] = [];
    return createEngineFromParts({
      backend: new Proxy(backend, {
        get: (target, name) => {
          if (name === 'dispose') return () => Promise.allSettled(steps);
          if (name === 'step')
            return (rows: readonly StepRow[]) => {
              const step = target.step(rows);
              steps.push(step);
              return step;
            };
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      }),
      ...text,
      clock: systemClock,
      info: { engine: 'webgpu', reason: 'asked for', version, model, worker: false },
      ...more,
    });
  }

  let preemptions = 0;
  for (const seed of SEEDS)
    it(`generate: each of 8 requests that join, leave, abort and are preempted gives what it gives alone, seed ${seed}`, async () => {
      const bytes = backend.liveGpuBytes;
      const schedule = drawSchedule(new SeededRandom(seed), LIMITS);
      const alone = makeEngine({ scheduling: { policy: 'latency' } });
      const expected = [];
      for (const { request } of schedule.requests) expected.push(await answer(alone, request));
      await alone[Symbol.asyncDispose]();
      const engine = makeEngine({ ...(seed !== 1 && { prefixCache: { memoryBytes: 2 ** 28 } }) });
      const answers = await runSchedule(engine, schedule);
      for (const [index, { ids, aborted, preemptions: times }] of answers.entries()) {
        const wanted = expected[index]!.ids;
        expect(ids, `request ${index}`).to.deep.equal(aborted ? wanted.slice(0, ids.length) : wanted);
        preemptions += times;
      }
      await engine[Symbol.asyncDispose]();
      expect(backend.liveGpuBytes).to.equal(bytes);
      // All blocks are free again: a full context for as many sequences as the pool has.
      const sequences = Array.from({ length: KV_TOKENS / CONTEXT_TOKENS }, () =>
        backend.openSequence(sequenceOptions()),
      );
      for (const sequence of sequences) expect(backend.reserveKv(sequence, CONTEXT_TOKENS)).to.equal(true);
      for (const sequence of sequences) backend.closeSequence(sequence);
    });

  it('generate: those schedules had preemptions', () => expect(preemptions).to.be.above(0));
});
