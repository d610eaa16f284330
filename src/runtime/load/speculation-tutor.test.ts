import { expect } from 'chai';
import { NEUTRAL_SAMPLING, type GenerateRequest } from '../../shared/generation.ts';
import { createLocalEngine } from './create-local-engine.ts';
import { createSampler } from '../backends/sampling/sampler.ts';
import { chiSquareDeviations } from '../backends/sampling/testing/random-cases.ts';
import { createWebGpuBackend } from '../backends/webgpu/create-webgpu-backend.ts';
import { LocalEngine } from '../engine/local-engine.ts';
import { countAccepted } from '../engine/speculation/accept-drafts.ts';
import { Speculator } from '../engine/speculation/speculator.ts';
import { answer } from '../engine/testing/collect.ts';
import { ggufText, type ModelText } from './model-text.ts';
import { createBuiltInSource, TUTOR_GGUF } from '../models/builtin.ts';
import { createReferenceModel } from '../models/testing/reference-model.ts';
import { systemClock } from '../../shared/clock.ts';

const SAMPLES = 6000;
/** Tokens expected fewer times than this are counted together, as they do not follow the chi-square distribution. */
const LEAST_EXPECTED = 8;
/** Deviations that one in some ten thousand runs of a right rule exceeds. */
const MOST = 4;

const temperature = 1;

/** Probabilities of all tokens. */
function softmax(logits: Float32Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b));
  const masses = Float64Array.from(logits, (logit) => Math.exp((logit - most) / temperature));
  const sum = masses.reduce((a, b) => a + b);
  return masses.map((mass) => mass / sum);
}

/** How far counts are from what probabilities lead to expect, in standard deviations of chi-square. */
function deviations(tokens: readonly number[], probabilities: Float64Array): number {
  const counts = new Map<number, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  const seen: number[] = [];
  const expected: number[] = [];
  let restSeen = 0;
  let restExpected = 0;
  for (const [id, probability] of probabilities.entries()) {
    const wanted = probability * tokens.length;
    if (wanted >= LEAST_EXPECTED) {
      seen.push(counts.get(id) ?? 0);
      expected.push(wanted);
    } else {
      restSeen += counts.get(id) ?? 0;
      restExpected += wanted;
    }
  }
  return chiSquareDeviations([...seen, restSeen], [...expected, restExpected]);
}

describe('speculative decoding: distribution of emitted tokens on the tutor', () => {
  it('countAccepted: what is emitted where a draft was is as frequent as the softmax says, and so is what follows; a biased rule is found out', async () => {
    const { stream } = await createBuiltInSource().open(TUTOR_GGUF);
    const model = await createReferenceModel(new Uint8Array(await new Response(stream).arrayBuffer()));
    const prompt = [1, 77, 301, 9, 1204, 55, 800];
    const first = model.forward(prompt).at(-1)!;
    const probabilities = softmax(first);
    const likely = [...probabilities.entries()].sort((a, b) => b[1] - a[1]).map(([id]) => id);
    const sampler = createSampler(first.length);
    const draw = (logits: Float32Array, position: number, seed: number): number =>
      sampler.sample({ logits, position, logprobs: 0, params: { ...NEUTRAL_SAMPLING, temperature, seed } }).token;
    // A likely draft, and an unlikely one.
    for (const draft of [likely[0]!, likely[3]!]) {
      const [second] = model.forward([draft]);
      model.truncate(prompt.length);
      const emitted: number[] = [];
      const followed: number[] = [];
      const biased: number[] = [];
      for (let seed = 0; seed < SAMPLES; seed++) {
        const sampled = [draw(first, prompt.length, seed), draw(second!, prompt.length + 1, seed)];
        const tokens = sampled.slice(0, countAccepted([draft], sampled) + 1);
        emitted.push(tokens[0]!);
        if (tokens.length > 1) followed.push(tokens[1]!);
        // Keeps one of ten wrong drafts too.
        biased.push(seed % 10 === 0 ? draft : tokens[0]!);
      }
      expect(deviations(emitted, probabilities)).to.be.below(MOST);
      expect(followed.length / SAMPLES, 'kept as often as p says').to.be.closeTo(probabilities[draft]!, 0.03);
      expect(deviations(followed, softmax(second!))).to.be.below(MOST);
      expect(deviations(biased, probabilities), 'the biased rule').to.be.above(2 * MOST);
    }
  });
});

describe('speculative decoding: the tutor on WebGPU', () => {
  it('generate: greedy and seeded texts are those without drafts, alone and in a batch', async () => {
    let text: ModelText | undefined;
    const backend = await createWebGpuBackend({
      source: createBuiltInSource(),
      path: TUTOR_GGUF,
      contextTokens: 320,
      maxBatch: 3,
      onHeader: ({ metadata }) => (text = ggufText(metadata)),
    });
    const { tokenizer, encodePrompt } = text!;
    const engine = new LocalEngine({
      backend,
      tokenizer,
      encodePrompt,
      // No step takes any time by this clock, so that drafts are verified whenever there are any.
      clock: { now: () => systemClock.now() * 1e-9 },
      speculator: new Speculator({ maxVerifyTokens: backend.info.capabilities.maxVerifyTokens }),
      info: { engine: 'webgpu', version: '0', model: backend.info.model, reason: 'It is a test.', worker: false },
    });
    const quoted = await answer(engine, {
      messages: [{ role: 'user', content: 'What is TTFT?' }],
      maxTokens: 48,
      speculation: false,
    });
    const messages = [
      { role: 'user', content: 'What is TTFT?' },
      { role: 'assistant', content: quoted.text },
      { role: 'user', content: 'What is TTFT?' },
    ] as const;
    const requests: GenerateRequest[] = [
      { messages, maxTokens: 40 },
      ...[1, 2, 3, 4].map((seed) => ({ messages, maxTokens: 24, sampling: { temperature: 0.7, topP: 0.95, seed } })),
      { messages, maxTokens: 24, sampling: { repetitionPenalty: 1.05, frequencyPenalty: 0.1 } },
      {
        prompt: 'prefill decode prefill decode',
        maxTokens: 40,
        ignoreEos: true,
        sampling: { temperature: 0.5, seed: 5 },
      },
    ];
    const plain = [];
    for (const request of requests) plain.push((await answer(engine, { ...request, speculation: false })).ids);
    let accepted = 0;
    for (const [index, request] of requests.entries()) {
      const { ids, end } = await answer(engine, request);
      expect(ids, `request ${index}`).to.deep.equal(plain[index]);
      accepted += end.usage.acceptedTokens ?? 0;
    }
    expect(accepted).to.be.above(40);
    const together = await Promise.all(requests.map((request) => answer(engine, request)));
    expect(together.map(({ ids }) => ids)).to.deep.equal(plain);
    await engine[Symbol.asyncDispose]();
  });

  it('draftModel: a model that drafts for itself is nearly always right, and the text is the one without', async () => {
    const engine = await createLocalEngine({
      model: 'tutor',
      engine: 'webgpu',
      contextTokens: 160,
      prefixCache: false,
      speculation: { draftModel: 'tutor', maxDraftTokens: 4 },
    });
    expect(engine.info.speculation).to.equal('draft-model');
    const request = {
      prompt: 'Why is decode',
      maxTokens: 64,
      ignoreEos: true,
      sampling: { temperature: 0.8, seed: 3 },
    };
    const { ids, end } = await answer(engine, request);
    const plain = await answer(engine, { ...request, speculation: false });
    expect(ids).to.deep.equal(plain.ids);
    // Whether it pays, and so how often it drafts, is a matter of the machine.
    const { draftedTokens = 0, acceptedTokens = 0 } = end.usage;
    expect(draftedTokens).to.be.above(0);
    expect(acceptedTokens / draftedTokens).to.be.above(0.8);
    await engine[Symbol.asyncDispose]();
  });
});
