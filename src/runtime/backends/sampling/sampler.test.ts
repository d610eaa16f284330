import { expect } from 'chai';
import { isTokenglassError } from '../../../shared/errors.ts';
import type { SamplingParams } from '../../../shared/generation.ts';
import { createSampler } from './sampler.ts';
import { bruteForceDistribution, bruteForceLogprobs, bruteForceScores } from './testing/brute-force.ts';
import {
  chiSquareDeviations,
  LOGIT_KINDS,
  ONE_PERCENT,
  PLAIN,
  randomLogits,
  randomParams,
  randomTokens,
  seededRandom,
} from './testing/random-cases.ts';
import { TokenCounts } from './token-counts.ts';

function countsOf(prompt: readonly number[], output: readonly number[]): TokenCounts {
  const counts = new TokenCounts();
  for (const id of prompt) counts.append(id, true);
  for (const id of output) counts.append(id, false);
  return counts;
}

function sampleOnce(
  logits: readonly number[] | Float32Array,
  params: Partial<SamplingParams> = {},
  mask?: Uint32Array,
): number {
  return createSampler(logits.length).sample({
    logits: Float32Array.from(logits),
    params: { ...PLAIN, ...params },
    position: 0,
    logprobs: 0,
    ...(mask && { mask }),
  }).token;
}

function faultOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isTokenglassError(error, 'numeric-fault')) return error.message;
    throw error;
  }
  return 'none';
}

describe('createSampler', () => {
  for (const [vocabSize, cases] of [
    [1, 30],
    [7, 600],
    [2048, 200],
    [151_936, 12],
  ] as const) {
    it(`createSampler: chooses what sorting everything in f64 chooses, ${cases} random cases, vocabulary ${vocabSize}`, () => {
      const random = seededRandom(vocabSize);
      const sampler = createSampler(vocabSize);
      for (let i = 0; i < cases; i++) {
        const kind = LOGIT_KINDS[i % LOGIT_KINDS.length]!;
        const logits = randomLogits(kind, vocabSize, random);
        const params = randomParams(vocabSize, random);
        const prompt = randomTokens(20, vocabSize, random);
        const output = randomTokens(20, vocabSize, random);
        const before = logits.slice();
        const request = { logits, params, counts: countsOf(prompt, output), position: i, logprobs: i % 21 };
        const distribution = bruteForceDistribution({ logits, params, prompt, output });
        const [expected] = bruteForceScores(distribution, params.seed, i);
        const said = `case ${i}, ${kind}, ${JSON.stringify(params)}`;
        if (expected === undefined) {
          expect(
            faultOf(() => sampler.sample(request)),
            said,
          ).to.contain('banned');
          continue;
        }
        const sampled = sampler.sample(request);
        expect(sampled.token, said).to.equal(expected.id);
        expect(logits, said).to.deep.equal(before);
        if (request.logprobs === 0) {
          expect(sampled).to.have.all.keys('token');
          continue;
        }
        const logprobs = bruteForceLogprobs(logits);
        expect(sampled.logprob, said).to.be.closeTo(logprobs.find(({ id }) => id === sampled.token)!.logprob, 1e-9);
        const top = logprobs.slice(0, request.logprobs);
        expect(
          sampled.topLogprobs!.map(({ id }) => id),
          said,
        ).to.deep.equal(top.map(({ id }) => id));
        sampled.topLogprobs!.forEach(({ logprob }, at) => expect(logprob).to.be.closeTo(top[at]!.logprob, 1e-9));
      }
    });
  }

  it('createSampler: over many positions, tokens are as frequent as the filtered distribution says (chi-square, 1 %)', () => {
    const random = seededRandom(77);
    const logits = randomLogits('model', 50, random).map((logit) => logit * 0.4);
    const sampler = createSampler(50);
    for (const change of [
      {},
      { temperature: 0.6 },
      { topP: 0.8 },
      { topK: 7 },
      { minP: 0.1 },
      { temperature: 1.4, topK: 30, minP: 0.01, topP: 0.9 },
    ]) {
      const params = { ...PLAIN, temperature: 1, seed: 4, ...change };
      const rounds = 20_000;
      const distribution = bruteForceDistribution({ logits, params, prompt: [], output: [] });
      const counts = new Map([...distribution.keys()].map((id) => [id, 0]));
      for (let position = 0; position < rounds; position++) {
        const { token } = sampler.sample({ logits, params, position, logprobs: 0 });
        expect(counts.has(token)).to.equal(true);
        counts.set(token, counts.get(token)! + 1);
      }
      // Tokens expected fewer than 5 times do not follow the chi-square distribution.
      const ids = [...distribution.keys()].filter((id) => distribution.get(id)! * rounds >= 5);
      expect(ids.length).to.be.greaterThan(5);
      const deviations = chiSquareDeviations(
        ids.map((id) => counts.get(id)!),
        ids.map((id) => distribution.get(id)! * rounds),
      );
      expect(deviations, JSON.stringify(change)).to.be.lessThan(ONE_PERCENT);
    }
  });

  it('createSampler: seed and position decide, and nothing that was sampled before', () => {
    const random = seededRandom(3);
    const logits = randomLogits('nearly flat', 4096, random);
    const params = { ...PLAIN, temperature: 1, seed: 99 };
    const draw = (position: number, seed = 99): number =>
      createSampler(4096).sample({ logits, params: { ...params, seed }, position, logprobs: 0 }).token;
    const sampler = createSampler(4096);
    const forwards = [0, 1, 2, 3].map((position) => sampler.sample({ logits, params, position, logprobs: 0 }).token);
    expect([3, 2, 1, 0].map((position) => draw(position))).to.deep.equal(forwards.slice().reverse());
    expect(new Set([...forwards, draw(0, 98), draw(0, 100)]).size).to.be.greaterThan(4);
  });

  it('createSampler: greedy ties go to the lowest id, as they do below the smallest temperature', () => {
    expect(sampleOnce([1, 3, 3, 2])).to.equal(1);
    expect(sampleOnce([1, 3, 3, 2], { temperature: 1e-6 })).to.equal(1);
  });

  it('createSampler: the nucleus includes the token that crosses the threshold, and what is tied with it', () => {
    const logits = [0.4, 0.3, 0.1, 0.1, 0.1].map(Math.log);
    const kept = (topP: number): number[] => {
      const seen = new Set<number>();
      for (let seed = 0; seed < 300; seed++) seen.add(sampleOnce(logits, { temperature: 1, topP, seed }));
      return [...seen].sort();
    };
    expect(kept(0.01)).to.deep.equal([0]);
    expect(kept(0.39)).to.deep.equal([0]);
    expect(kept(0.41)).to.deep.equal([0, 1]);
    expect(kept(0.71)).to.deep.equal([0, 1, 2, 3, 4]);
  });

  it('createSampler: bias bans and lifts, and the mask bans', () => {
    expect(sampleOnce([1, 3, 2], { logitBias: { 1: -100 } })).to.equal(2);
    expect(sampleOnce([1, 3, 2], { logitBias: { 0: 5 } })).to.equal(0);
    expect(sampleOnce([1, 3, 2], {}, Uint32Array.of(0b101))).to.equal(2);
    for (let seed = 0; seed < 50; seed++) {
      expect(sampleOnce([1, 3, 2], { temperature: 5, seed }, Uint32Array.of(0b100))).to.equal(2);
    }
  });

  it('createSampler: NaN, +Infinity, flat and banned-out logits are numeric faults, -Infinity is not', () => {
    expect(faultOf(() => sampleOnce([1, NaN, 2]))).to.contain('NaN');
    expect(faultOf(() => sampleOnce([1, Infinity, 2]))).to.contain('Infinity');
    expect(faultOf(() => sampleOnce([1, 1, 1]))).to.contain('equal');
    expect(faultOf(() => sampleOnce([0, -0, 0]))).to.contain('equal');
    expect(faultOf(() => sampleOnce([-Infinity, -Infinity]))).to.contain('equal');
    expect(faultOf(() => sampleOnce([1, -Infinity], { logitBias: { 0: -Infinity } }))).to.contain('banned');
    expect(faultOf(() => sampleOnce([1, 2], {}, Uint32Array.of(0)))).to.contain('banned');
    expect(sampleOnce([5])).to.equal(0);
    expect(sampleOnce([-Infinity, 1], { temperature: 1 })).to.equal(1);
  });

  it('createSampler: parameters out of range are RangeErrors that name them', () => {
    for (const [name, value] of [
      ['temperature', -1],
      ['temperature', NaN],
      ['topP', 0],
      ['topP', 1.1],
      ['topK', 1.5],
      ['minP', 1],
      ['repetitionPenalty', 0],
      ['seed', 2 ** 32],
    ] as const) {
      expect(() => sampleOnce([1, 2], { [name]: value }), `${name} ${value}`).to.throw(RangeError, name);
    }
    expect(() => sampleOnce([1, 2], { logitBias: { 2: 1 } })).to.throw(RangeError, 'logitBias');
    expect(() =>
      createSampler(2).sample({ logits: new Float32Array(3), params: PLAIN, position: 0, logprobs: 0 }),
    ).to.throw(RangeError);
  });
});
