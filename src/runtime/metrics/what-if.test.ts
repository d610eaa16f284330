import { expect } from 'chai';
import { costPerMillionTokens, forecast, solveSlo } from './what-if.ts';

describe('forecast', () => {
  it('forecast: E2E is TTFT + (out - 1) * TPOT', () => {
    // 500 ms to the first token, 20 ms for each of the 99 that follow.
    const one = forecast({ outputTokens: 100, itlMs: 20, ttftMs: 500 });
    expect(one).to.deep.equal({
      ttftMs: 500,
      e2eMs: 2480,
      worstTtftMs: 500,
      worstE2eMs: 2480,
      decodeTokensPerSecond: 50,
      systemTokensPerSecond: 100_000 / 2480,
    });
  });

  it('forecast: the prompt is read at the prefill rate', () => {
    const { ttftMs, e2eMs } = forecast({
      promptTokens: 1000,
      prefillTokensPerSecond: 4000,
      ttftMs: 30,
      outputTokens: 1,
      itlMs: 20,
    });
    expect([ttftMs, e2eMs]).to.deep.equal([280, 280]);
  });

  it('forecast: users beyond the slots wait their turn, and in a batch the machine makes more', () => {
    const queued = forecast({ outputTokens: 11, itlMs: 10, ttftMs: 100, concurrency: 3, slots: 1 });
    expect(queued).to.include({ e2eMs: 200, worstTtftMs: 500, worstE2eMs: 600, systemTokensPerSecond: 55 });
    const batched = forecast({ outputTokens: 11, itlMs: 10, ttftMs: 100, concurrency: 3 });
    expect(batched).to.include({ worstE2eMs: 200, systemTokensPerSecond: 165, decodeTokensPerSecond: 100 });
  });

  it('forecast: refuses what makes no sense', () => {
    for (const bad of [{ outputTokens: 0 }, { itlMs: -1 }, { itlMs: Number.NaN }, { slots: 0 }, { ttftMs: Infinity }])
      expect(() => forecast({ outputTokens: 10, itlMs: 20, ...bad })).to.throw(RangeError);
  });
});

describe('solveSlo', () => {
  it('solveSlo: the most output tokens, inclusive, and the ITL that is needed', () => {
    expect(solveSlo({ e2eLimitMs: 2480, ttftMs: 500, itlMs: 20, outputTokens: 100 })).to.deep.equal({
      ttftMs: 500,
      maxOutputTokens: 100,
      neededItlMs: 20,
    });
    expect(solveSlo({ e2eLimitMs: 2479, ttftMs: 500, itlMs: 20 }).maxOutputTokens).to.equal(99);
    expect(solveSlo({ e2eLimitMs: 0.3, ttftMs: 0, itlMs: 0.1 }).maxOutputTokens).to.equal(4);
  });

  it('solveSlo: its answer fits the model of latency', () => {
    const { neededItlMs } = solveSlo({ e2eLimitMs: 3000, ttftMs: 400, outputTokens: 250 });
    expect(forecast({ outputTokens: 250, itlMs: neededItlMs!, ttftMs: 400 }).e2eMs).to.be.closeTo(3000, 1e-9);
  });

  it('solveSlo: a first token that comes too late leaves nothing', () => {
    const late = solveSlo({ e2eLimitMs: 300, ttftMs: 500, itlMs: 20, outputTokens: 10 });
    expect(late).to.deep.equal({ ttftMs: 500, maxOutputTokens: 0 });
    expect(solveSlo({ e2eLimitMs: 500, ttftMs: 500, itlMs: 20, outputTokens: 1 })).to.deep.equal({
      ttftMs: 500,
      maxOutputTokens: 1,
    });
  });
});

describe('costPerMillionTokens', () => {
  it('costPerMillionTokens: price of the hour over the tokens of the hour', () => {
    // 100 tokens/s are 0.36 million an hour.
    expect(costPerMillionTokens(3.6, 100)).to.be.closeTo(10, 1e-9);
    expect(() => costPerMillionTokens(1, 0)).to.throw(RangeError);
  });
});
