import { expect } from 'chai';
import { computeFigures } from './figures.ts';
import type { Figures } from './report.ts';
import { meetsSlo, type Slo } from './slo.ts';
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

const figuresOf = (samples: Sample[], durationMs: number, slo: Slo, failed = 0, coolDown: Sample[] = []): Figures =>
  computeFigures({ samples, durationMs, slo, failed, fromMs: 0, coolDown });

describe('computeFigures', () => {
  it('computeFigures: percentiles are of all samples, ITL of all gaps, each with its n', () => {
    const figures = figuresOf([sample(), sample({ ttftMs: 300, itlMs: [30] })], 1000, SLO);
    expect(figures.ttftMs).to.deep.include({ n: 2, p50: 250 });
    expect(figures.itlMs).to.deep.include({ n: 3, p50: 20, max: 30 });
  });

  it('computeFigures: tokens that were counted and not timed make a rate and no peak; uncounted ones make none', () => {
    const untimed = (outputTokens: number): Sample => sample({ outputTokens, tokenTimesMs: [], itlMs: [], text: 'hi' });
    const counted = figuresOf([untimed(3), untimed(7)], 1000, SLO);
    expect(counted.systemTokensPerSecond).to.equal(10);
    expect(counted).not.to.have.property('peakSystemTokensPerSecond');
    expect(figuresOf([untimed(3), untimed(0)], 1000, SLO)).not.to.have.property('systemTokensPerSecond');
  });

  it('computeFigures: a hidden sample counts as work of the machine, not in percentiles', () => {
    const figures = figuresOf([sample(), sample({ hidden: true, ttftMs: 9000 })], 1000, SLO);
    expect(figures.ttftMs).to.deep.include({ n: 1, max: 200 });
    expect(figures.systemTokensPerSecond).to.equal(6);
  });

  it('computeFigures: what was not measured is absent, not 0', () => {
    const { ttftMs: _1, tpotMs: _2, e2eMs: _3, ...bare } = sample({ itlMs: [], outputTokens: 0, tokenTimesMs: [] });
    const figures = figuresOf([bare], 0, SLO);
    expect([figures.ttftMs, figures.itlMs]).to.deep.equal([{ n: 0 }, { n: 0 }]);
    for (const name of ['tpotMs', 'e2eMs', 'queueMs', 'systemTokensPerSecond', 'peakSystemTokensPerSecond'] as const)
      expect(figures).not.to.have.property(name);
  });

  it('computeFigures: goodput counts requests within every limit, inclusive', () => {
    const samples = [sample({ ttftMs: 300, tpotMs: 40 }), sample({ ttftMs: 301 }), sample({ tpotMs: 41 })];
    const { goodput } = figuresOf(samples, 2000, SLO, 1);
    expect(goodput).to.deep.equal({
      requestsPerSecond: 0.5,
      tokensPerSecond: 1.5,
      share: 1 / 4, // a failed request met nothing
      shares: { ttftMs: 2 / 4, tpotMs: 2 / 4 },
    });
  });

  it('computeFigures: the peak is of the best second of a run that is longer than one', () => {
    const times = [0, 100, 200, 5000, 5900, 6800];
    const figures = figuresOf([sample({ tokenTimesMs: times })], 6800, SLO);
    expect(figures).to.deep.include({ peakSystemTokensPerSecond: 3, peakWindowMs: 1000 });
  });

  it('computeFigures: the peak of a run shorter than a second is its rate, and says so', () => {
    const figures = figuresOf([sample()], 250, SLO);
    expect(figures).to.deep.include({ systemTokensPerSecond: 12, peakSystemTokensPerSecond: 12, peakWindowMs: 250 });
  });

  it('computeFigures: of the cool-down only tokens within the measured part count, and only for the machine', () => {
    const coolDown = [sample({ ttftMs: 9000, tokenTimesMs: [900, 1000, 1100] })];
    const figures = figuresOf([sample()], 1000, SLO, 0, coolDown);
    expect(figures.systemTokensPerSecond).to.equal(5);
    expect(figures.ttftMs).to.deep.include({ n: 1, max: 200 });
  });

  it('meetsSlo: a request without the figure has not shown that it met the limit', () => {
    const { ttftMs: _, ...silent } = sample();
    expect(meetsSlo(silent, SLO)).to.equal(false);
    expect(meetsSlo(silent, { name: 'none' })).to.equal(true);
  });

  it('meetsSlo: ITL p95 and E2E are limits too; an answer of one token has no gap to be judged by', () => {
    expect(meetsSlo(sample({ itlMs: [10, 50] }), { name: 'x', itlP95Ms: 47 })).to.equal(false); // p95 is 48
    expect(meetsSlo(sample({ itlMs: [10, 50] }), { name: 'x', itlP95Ms: 48 })).to.equal(true);
    expect(meetsSlo(sample({ e2eMs: 241 }), { name: 'x', e2eMs: 240 })).to.equal(false);
    const { tpotMs: _, ...one } = sample({ outputTokens: 1, itlMs: [] });
    expect(meetsSlo(one, { name: 'x', tpotMs: 1, itlP95Ms: 1 })).to.equal(true);
  });
});
