import { expect } from 'chai';
import { computeFigures, meetsSlo } from './figures.ts';
import type { Sample } from './sample.ts';

const SLO = { name: 'test', ttftMs: 300, tpotMs: 40 };

const sample = (changes: Partial<Sample> = {}): Sample => ({
  index: 0,
  warmUp: false,
  hidden: false,
  promptTokens: 10,
  cachedTokens: 0,
  outputTokens: 3,
  finishReason: 'length',
  ttftMs: 200,
  itlMs: [20, 20],
  tpotMs: 20,
  e2eMs: 240,
  calledMs: 0,
  tokenTimesMs: [200, 220, 240],
  text: '',
  ids: [],
  ...changes,
});

describe('computeFigures', () => {
  it('computeFigures: percentiles are of all samples, ITL of all gaps, each with its n', () => {
    const figures = computeFigures([sample(), sample({ ttftMs: 300, itlMs: [30] })], 1000, SLO);
    expect(figures.ttftMs).to.deep.include({ n: 2, p50: 250 });
    expect(figures.itlMs).to.deep.include({ n: 3, p50: 20, max: 30 });
  });

  it('computeFigures: a hidden sample counts as work of the machine, not in percentiles', () => {
    const figures = computeFigures([sample(), sample({ hidden: true, ttftMs: 9000 })], 1000, SLO);
    expect(figures.ttftMs).to.deep.include({ n: 1, max: 200 });
    expect(figures.systemTokensPerSecond).to.equal(6);
  });

  it('computeFigures: what was not measured is absent, not 0', () => {
    const { ttftMs: _1, tpotMs: _2, e2eMs: _3, ...bare } = sample({ itlMs: [], outputTokens: 0, tokenTimesMs: [] });
    const figures = computeFigures([bare], 0, SLO);
    for (const name of ['ttftMs', 'itlMs', 'tpotMs', 'systemTokensPerSecond', 'peakSystemTokensPerSecond'] as const)
      expect(figures).not.to.have.property(name);
  });

  it('computeFigures: goodput counts requests within every limit, inclusive', () => {
    const samples = [sample({ ttftMs: 300, tpotMs: 40 }), sample({ ttftMs: 301 }), sample({ tpotMs: 41 })];
    const { goodput } = computeFigures(samples, 2000, SLO);
    expect(goodput).to.deep.equal({ requestsPerSecond: 0.5, tokensPerSecond: 1.5, share: 1 / 3 });
  });

  it('computeFigures: the peak is of the best second of a run that is longer than one', () => {
    const times = [0, 100, 200, 5000, 5900, 6800];
    const figures = computeFigures([sample({ tokenTimesMs: times })], 6800, SLO);
    expect(figures.peakSystemTokensPerSecond).to.equal(3);
  });

  it('meetsSlo: a request without the figure has not shown that it met the limit', () => {
    const { ttftMs: _, ...silent } = sample();
    expect(meetsSlo(silent, SLO)).to.equal(false);
    expect(meetsSlo(silent, { name: 'none' })).to.equal(true);
  });
});
