import { expect } from 'chai';
import { systemClock } from '../../shared/clock.ts';
import type { GenerateRequest } from '../../shared/generation.ts';
import { createWebGpuBackend } from '../backends/webgpu/create-webgpu-backend.ts';
import { memorySource } from '../models/testing/memory-source.ts';
import { LocalEngine } from '../engine/local-engine.ts';
import { Speculator } from '../engine/speculation/speculator.ts';
import { answer } from '../engine/testing/collect.ts';
import { makeSyntheticGguf, SHAPES, type SyntheticModel } from '../models/testing/synthetic-model.ts';
import { KvDatabase } from '../prefix-cache/kv-database.ts';
import { freshDatabase } from '../prefix-cache/testing/cached-engine.ts';
import { ggufText, type ModelText } from './model-text.ts';

/** Models with state that is no KV. */
const MODELS: readonly SyntheticModel[] = [
  { ...SHAPES.small, architecture: 'lfm2', quantization: 'F32', layers: 3 },
  { ...SHAPES.small, architecture: 'qwen35', quantization: 'F32', layers: 4 },
];

/** Repeats itself, so that there is something to draft. */
const PROMPT = 'in the heat the tin is on the train in the heat the tin is on the train in the heat the tin is on';

const request = (prompt: string, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  prompt,
  maxTokens: 16,
  ignoreEos: true,
  ...more,
});

async function createEngine(model: SyntheticModel, database?: string): Promise<LocalEngine> {
  let text: ModelText | undefined;
  const backend = await createWebGpuBackend({
    source: memorySource(makeSyntheticGguf(model)),
    path: 'model.gguf',
    contextTokens: 224,
    maxBatch: 3,
    onHeader: ({ metadata }) => (text = ggufText(metadata)),
  });
  const { tokenizer, encodePrompt } = text!;
  return new LocalEngine({
    backend,
    tokenizer,
    encodePrompt,
    // No step takes any time by this clock, so that drafts are verified whenever there are any.
    clock: { now: () => systemClock.now() * 1e-9 },
    speculator: new Speculator({ maxVerifyTokens: backend.info.capabilities.maxVerifyTokens }),
    info: { engine: 'webgpu', version: '0', model: backend.info.model, reason: 'It is a test.', worker: false },
    ...(database !== undefined && {
      prefixCache: {
        memoryBytes: 2 ** 28,
        stored: { database: new KvDatabase(database), budgetBytes: 2 ** 28 },
      },
    }),
  });
}

for (const model of MODELS)
  describe(`engine on WebGPU: state of ${model.architecture}`, () => {
    let plain: LocalEngine;
    before(async () => {
      plain = await createEngine(model);
    });
    after(() => plain.dispose());

    it('generate: with drafts, of which some are rejected, the answer is the one without', async () => {
      // Three tokens at random: what came before is drafted all the time, and is often wrong.
      const sampling = { temperature: 1.5, seed: 5, logitBias: { 97: 60, 98: 60, 99: 60 } };
      const expected = await answer(plain, request(PROMPT, { maxTokens: 48, sampling, speculation: false }));
      const { ids, end } = await answer(plain, request(PROMPT, { maxTokens: 48, sampling }));
      expect(ids).to.deep.equal(expected.ids);
      const { draftedTokens = 0, acceptedTokens = 0 } = end.usage;
      expect(draftedTokens, 'rejected').to.be.above(acceptedTokens);
      expect(acceptedTokens).to.be.above(0);
    });

    it('generate: three at a time, one of them cut short, are answered as one after the other', async () => {
      const prompts = [PROMPT, PROMPT.slice(7), PROMPT.slice(20)];
      const alone = [];
      for (const prompt of prompts) alone.push((await answer(plain, request(prompt))).ids);
      const cut = answer(plain, request(PROMPT.slice(3), { maxTokens: 100 }), AbortSignal.timeout(300)).catch(
        () => undefined,
      );
      const [first, second] = await Promise.all(prompts.slice(0, 2).map((prompt) => answer(plain, request(prompt))));
      await cut;
      const third = await answer(plain, request(prompts[2]!));
      expect([first!.ids, second!.ids, third.ids]).to.deep.equal(alone);
    });

    it('prefixCache: a second turn and a reload go on from stored state, with the answers of a cold start', async () => {
      const database = freshDatabase();
      const before = await createEngine(model, database);
      const expected = await answer(plain, request(PROMPT));
      const first = await answer(before, request(PROMPT));
      expect(first.ids).to.deep.equal(expected.ids);
      const longer = `${PROMPT} the train in the heat`;
      const cold = await answer(plain, request(longer));
      const second = await answer(before, request(longer));
      expect(second.ids).to.deep.equal(cold.ids);
      expect(second.end.usage.cachedTokens).to.be.at.least(32);
      await before.dispose();

      const reloaded = await createEngine(model, database);
      const third = await answer(reloaded, request(longer));
      expect(third.ids).to.deep.equal(cold.ids);
      expect(third.end.usage.cachedTokens).to.be.at.least(32);
      await reloaded.dispose();
    });
  });
