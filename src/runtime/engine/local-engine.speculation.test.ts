import { expect } from 'chai';
import type { Clock } from '../../shared/clock.ts';
import type { StepTrace } from '../../shared/trace.ts';
import type { SeededRandom } from '../models/testing/random.ts';
import type { LocalEngineParts } from './local-engine.ts';
import { DraftModel } from './speculation/draft-model.ts';
import { Speculator } from './speculation/speculator.ts';
import { BYTE_VOCAB_SIZE, END_ID } from './testing/byte-tokenizer.ts';
import { answer } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import { FakeBackend, type FakeBackendOptions } from './testing/fake-backend.ts';
import { hashedToken, repetitiveToken } from './testing/next-token.ts';
import { CONTEXT_TOKENS, drawBackend, testSchedules } from './testing/schedule-tests.ts';

const SCHEDULES = 100;
/** No step takes any time, so that drafting pays whenever there is something to draft. */
const STILL: Clock = { now: () => 1000 };

const capabilities = { maxVerifyTokens: 16, runAhead: 3, maxBatch: 4, maxStepTokens: 64 };

function engineWith(
  speculator: Speculator | undefined,
  options: FakeBackendOptions = {},
  parts: Partial<LocalEngineParts> = {},
) {
  const made = createFakeEngine(
    {
      contextTokens: CONTEXT_TOKENS,
      nextToken: repetitiveToken,
      ...options,
      capabilities: { ...capabilities, ...options.capabilities },
    },
    { clock: STILL, ...(speculator && { speculator }), ...parts },
  );
  const steps: StepTrace[] = [];
  made.engine.metrics.on('step', (step) => steps.push(step));
  return { ...made, steps };
}

const lookup = (): Speculator => new Speculator({ maxVerifyTokens: 16 });

describe('LocalEngine with speculative decoding', () => {
  let accepted = 0;
  let rejected = 0;
  let shared = 0;
  testSchedules({
    schedules: SCHEDULES,
    promptTokens: 40,
    reference: 'alone and undrafted',
    createReference: () => engineWith(undefined, {}, { scheduling: { policy: 'latency' } }).engine,
    create: (random, { policy }) => {
      const kvExport = random.integer(2) === 0;
      const draft = random.integer(3) === 0 ? draftBackend(random) : undefined;
      const speculator = new Speculator({ maxVerifyTokens: 16, ...(draft && { draftModel: new DraftModel(draft) }) });
      const options = drawBackend(random, kvExport, CONTEXT_TOKENS + 32 * random.integer(12));
      const prefixCache = kvExport && { prefixCache: { memoryBytes: 2 ** 20 } };
      return { ...engineWith(speculator, options, { scheduling: { policy }, ...prefixCache }), draft };
    },
    onEnded: ({ steps, draft }, _, name) => {
      for (const { drafted = 0, accepted: right = 0, batch } of steps) {
        accepted += right;
        rejected += drafted - right;
        if (drafted > 0 && batch > 1) shared += 1;
      }
      expect(draft?.openSequences ?? 0, name).to.equal(0);
    },
  });

  it('generate: those schedules had drafts in plenty, right and wrong, alone and in batches', () => {
    expect(accepted).to.be.above(10 * SCHEDULES);
    expect(rejected).to.be.above(10 * SCHEDULES);
    expect(shared).to.be.above(SCHEDULES);
  });

  it('usage: counts what was drafted and accepted; rejected drafts and those behind the end are no output', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const request = {
        prompt: `p${seed}`,
        maxTokens: 3 + (seed % 60),
        sampling: { seed, temperature: seed % 2 },
        logprobs: 1,
      };
      const plain = engineWith(undefined);
      const wanted = await answer(plain.engine, request);
      const { engine, steps } = engineWith(lookup());
      const { ids, tokens, end } = await answer(engine, request);
      expect(tokens).to.deep.equal(wanted.tokens);
      expect(end.finishReason).to.equal(wanted.end.finishReason);
      const { draftedTokens, acceptedTokens, ...usage } = end.usage;
      expect(usage).to.deep.equal(wanted.end.usage);
      expect(usage.completionTokens).to.equal(ids.length);
      const sum = (key: 'drafted' | 'accepted') => steps.reduce((total, step) => total + (step[key] ?? 0), 0);
      expect([draftedTokens ?? 0, acceptedTokens ?? 0]).to.deep.equal([sum('drafted'), sum('accepted')]);
      // Each step with a sample gives one token at least, but for what ran ahead of the end.
      const given = steps.filter(({ drafted }) => drafted !== undefined).length;
      expect(ids.length).to.be.at.least((acceptedTokens ?? 0) + given - 1);
    }
  });

  for (const [what, more] of [
    ['a stop string', { stop: ['$#'] }],
    ['a stop token', { stopTokenIds: [0x41, 0x42, 0x43] }],
    ['the longest length', { maxTokens: 23 }],
  ] as const)
    it(`generate: ${what} inside a verified run ends the answer where it ends without drafts`, async () => {
      let inside = 0;
      for (let seed = 0; seed < 60; seed++) {
        const request = { prompt: `question ${seed}`, maxTokens: 90, sampling: { seed, temperature: 1 }, ...more };
        const plain = engineWith(undefined);
        const wanted = await answer(plain.engine, request);
        const { engine, backend, steps } = engineWith(lookup());
        const made = await answer(engine, request);
        expect([made.text, made.ids, made.end.finishReason, made.end.stopString]).to.deep.equal([
          wanted.text,
          wanted.ids,
          wanted.end.finishReason,
          wanted.end.stopString,
        ]);
        if (steps.at(-1)!.drafted !== undefined) inside += 1;
        expect(backend.openSequences).to.equal(0);
      }
      expect(inside, 'answers that end in a step that verifies').to.be.above(5);
    });

  it('generate: a request that does without has no drafts, nor has one with a grammar, also beside one that has', async () => {
    const everything = new Uint32Array(Math.ceil(BYTE_VOCAB_SIZE / 32)).fill(0xffffffff);
    const { engine, steps } = engineWith(
      lookup(),
      { capabilities: { grammarMask: true } },
      {
        compileGrammar: () =>
          Promise.resolve({
            mask: () => Promise.resolve(everything),
            accept: () => true,
            isDone: false,
            dispose: () => undefined,
          }),
      },
    );
    const request = { prompt: 'abcabcabc', maxTokens: 80, sampling: { logitBias: { [END_ID]: -100 } } };
    await answer(engine, { ...request, speculation: false });
    await answer(engine, { ...request, grammar: { type: 'json' } });
    expect(steps.filter(({ drafted }) => drafted !== undefined)).to.deep.equal([]);
    const [, ...without] = await Promise.all([
      answer(engine, request),
      answer(engine, { ...request, speculation: false }),
      answer(engine, { ...request, grammar: { type: 'json' } }),
    ]);
    expect(steps.some(({ drafted }) => drafted !== undefined)).to.equal(true);
    for (const { end } of without) expect(end.usage).not.to.have.any.keys('draftedTokens', 'acceptedTokens');
  });

  it('generate: a text that does not repeat takes the very steps of plain decoding', async () => {
    const request = { prompt: 'Once', maxTokens: 120, sampling: { logitBias: { [END_ID]: -100 } } };
    const plain = engineWith(undefined, { nextToken: hashedToken });
    const speculative = engineWith(lookup(), { nextToken: hashedToken });
    const wanted = await answer(plain.engine, request);
    const made = await answer(speculative.engine, request);
    expect(made.ids).to.deep.equal(wanted.ids);
    const drafted = speculative.steps.filter((step) => step.drafted !== undefined).length;
    // Two tokens of 95 occur together twice by chance.
    expect(drafted).to.be.at.most(4);
    expect(speculative.steps.length - plain.steps.length).to.be.at.most(drafted);
  });

  it('generate: the KV of a next turn is what was accepted, not what was drafted', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const parts = { prefixCache: { memoryBytes: 2 ** 20 } };
      const options = { capabilities: { kvExport: true } };
      const sampling = { seed, temperature: 1, logitBias: { [END_ID]: -100 } };
      const plain = engineWith(undefined);
      const { engine, steps } = engineWith(lookup(), options, parts);
      const first = await answer(engine, { promptTokens: [65, 66, 67], maxTokens: 70 + seed, sampling });
      expect(steps.some(({ drafted = 0, accepted: right = 0 }) => right < drafted)).to.equal(true);
      const next = { promptTokens: [65, 66, 67, ...first.ids, 68], maxTokens: 20, sampling };
      const made = await answer(engine, next);
      expect(made.ids).to.deep.equal((await answer(plain.engine, next)).ids);
      expect(made.start.cachedTokens).to.be.above(0);
    }
  });

  it('generate: a draft model that fails is given up, and the answer is whole', async () => {
    const draft = new FakeBackend({
      failStep: (step) => (step > 40 ? new Error('gone') : undefined),
      nextToken: repetitiveToken,
    });
    const { engine, steps } = engineWith(new Speculator({ maxVerifyTokens: 16, draftModel: new DraftModel(draft) }));
    const request = { prompt: 'Why?', maxTokens: 80, sampling: { logitBias: { [END_ID]: -100 } } };
    const made = await answer(engine, request);
    expect(made.ids).to.deep.equal((await answer(engineWith(undefined).engine, request)).ids);
    expect(steps.some(({ drafted }) => drafted !== undefined)).to.equal(true);
    expect(draft.openSequences).to.equal(0);
  });
});

/** A model that answers as the target does, mostly. */
function draftBackend(random: SeededRandom): FakeBackend {
  const share = random.integer(4);
  return new FakeBackend({
    contextTokens: CONTEXT_TOKENS,
    capabilities: { runAhead: 1 + random.integer(3), maxBatch: 8, maxStepTokens: 64 },
    nextToken: (history, options) =>
      history.tokens.length % 4 < share ? hashedToken(history, options) : repetitiveToken(history, options),
  });
}
