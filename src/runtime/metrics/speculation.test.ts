import { expect } from 'chai';
import type { StepTrace } from '../../shared/trace.ts';
import { acceptanceRate, summarizeSpeculation, tokensPerStep } from './speculation.ts';

const step = (startedAtMs: number, totalMs: number, more: Partial<StepTrace> = {}): StepTrace => ({
  kind: 'decode',
  startedAtMs,
  timing: { totalMs },
  batch: 1,
  tokens: 1,
  contextTokens: 10,
  ...more,
});

describe('speculation metrics', () => {
  it('acceptanceRate: accepted of drafted, and absent where nothing was drafted', () => {
    expect(acceptanceRate({ draftedTokens: 8, acceptedTokens: 6 })).to.equal(0.75);
    expect(acceptanceRate({})).to.equal(undefined);
    expect(acceptanceRate({ draftedTokens: 0, acceptedTokens: 0 })).to.equal(undefined);
  });

  it('tokensPerStep: tokens after the first by steps of decoding', () => {
    const steps = [step(0, 30, { kind: 'prefill' }), step(30, 10), step(40, 12, { drafted: 4, accepted: 3 })];
    expect(tokensPerStep({ completionTokens: 6 }, steps)).to.equal(2.5);
    expect(tokensPerStep({ completionTokens: 1 }, steps.slice(0, 1))).to.equal(undefined);
  });

  it('summarizeSpeculation: by hand, with plain steps that overlap as they run ahead', () => {
    const summary = summarizeSpeculation([
      step(0, 30, { kind: 'prefill' }),
      step(30, 10),
      step(31, 19), // 10 ms of its own
      step(50, 15, { drafted: 4, accepted: 3 }),
      step(65, 15, { drafted: 4, accepted: 1 }),
    ]);
    expect(summary).to.deep.equal({
      draftedTokens: 8,
      acceptedTokens: 4,
      verifySteps: 2,
      tokensPerVerifyStep: 3,
      effectiveItlMs: 5,
      plainItlMs: 10,
      savedMs: 30,
    });
  });

  it('summarizeSpeculation: in a batch a gap is of each sequence; nothing is saved where nothing is known of plain steps', () => {
    const summary = summarizeSpeculation([step(0, 20, { batch: 4, drafted: 4, accepted: 4 })]);
    expect(summary).to.include({ tokensPerVerifyStep: 2, effectiveItlMs: 10 });
    expect(summary).not.to.have.any.keys('plainItlMs', 'savedMs');
    expect(summarizeSpeculation([step(0, 10)])).to.equal(undefined);
  });
});
