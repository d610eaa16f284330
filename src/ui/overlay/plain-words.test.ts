import { expect } from 'chai';
import { scriptedInfo } from '../testing/scripted-engine.ts';
import type { LiveFigures } from './live-figures.ts';
import { plainWords } from './plain-words.ts';

const figures: LiveFigures = {
  phase: 'done',
  ttftMs: 200,
  parts: { queueMs: 10, prefillMs: 150, deliveryMs: 40 },
  latency: { n: 10, nowMs: 9, p50Ms: 10, p95Ms: 12, tokensPerSecond: 100 },
  promptTokens: 40,
  cachedTokens: 8,
  outputTokens: 11,
};

describe('plainWords', () => {
  it('plainWords: names the largest part of the wait, and the bytes a second of the weights', () => {
    const [first, perToken] = plainWords(scriptedInfo, figures);
    expect(first).to.equal(
      '75 % of the wait for the first word was reading 32 prompt tokens (8 more came from the cache).',
    );
    expect(perToken).to.match(
      /^Each token reads all 3[.,]7 MB of weights once: in 10[.,]0 ms, that is 370 MB a second\.$/,
    );
  });

  it('plainWords: where tokens are drafted, a token is not one reading of the weights', () => {
    const words = plainWords({ ...scriptedInfo, speculation: 'prompt-lookup' }, figures);
    expect(words).to.have.length(1);
    expect(words[0]).not.to.include('weights');
  });

  it('plainWords: says nothing before an answer, and nothing that was not measured', () => {
    expect(plainWords(scriptedInfo, { ...figures, phase: 'streaming' })).to.deep.equal([]);
    expect(plainWords(undefined, { phase: 'done', latency: { n: 0 }, outputTokens: 1 })).to.deep.equal([]);
  });
});
