import { expect } from 'chai';
import { StepPace } from './step-pace.ts';

/** A device whose steps cost so much, driven by what the pace says; gives the pieces that it chose. */
function drive(
  pace: StepPace,
  cost: { decodeMs: number; tokenMs: (chunk: number) => number },
  steps: number,
): number[] {
  const chunks: number[] = [];
  for (let step = 0; step < steps; step++) {
    const chunk = pace.chunkTokens(4, 1);
    chunks.push(chunk);
    pace.observe({ decodeRows: 4, prefillTokens: chunk, ms: cost.decodeMs + cost.tokenMs(chunk) });
  }
  return chunks;
}

/** What it knows once four have been streaming for a while. */
function afterDecoding(stretch: number, decodeMs: number): StepPace {
  const pace = new StepPace(stretch);
  for (let step = 0; step < 12; step++) pace.observe({ decodeRows: 4, prefillTokens: 0, ms: decodeMs });
  return pace;
}

describe('StepPace', () => {
  for (const [name, decodeMs, tokenMs] of [
    ['a CPU, a row as dear as the next', 8, 1],
    ['a GPU where memory decides, and rows cost little', 10, 0.05],
    ['a small model on a GPU, where dispatches decide', 4, 0.005],
  ] as const)
    it(`chunkTokens: steps stay below 4 times a step without, from the first piece on, and come near 2.5 times: ${name}`, () => {
      const pace = afterDecoding(2.5, decodeMs);
      const chunks = drive(pace, { decodeMs, tokenMs: (chunk) => chunk * tokenMs }, 40);
      const stretches = chunks.map((chunk) => (decodeMs + chunk * tokenMs) / decodeMs);
      expect(Math.max(...stretches)).to.be.below(4);
      expect(stretches.at(-1)).to.be.within(2, 2.6);
    });

  it('chunkTokens: prompts that were computed alone say what a token costs, before any piece was tried', () => {
    const pace = new StepPace(2.5);
    for (let step = 0; step < 3; step++) pace.observe({ decodeRows: 0, prefillTokens: 100, ms: 200 });
    for (let step = 0; step < 3; step++) pace.observe({ decodeRows: 2, prefillTokens: 0, ms: 20 });
    expect(pace.chunkTokens(2, 1)).to.equal(14);
  });

  it('chunkTokens: tokens that get dearer, as the context grows, make the pieces smaller', () => {
    const pace = afterDecoding(2.5, 10);
    const early = drive(pace, { decodeMs: 10, tokenMs: (chunk) => chunk * 0.2 }, 30).at(-1)!;
    const late = drive(pace, { decodeMs: 10, tokenMs: (chunk) => chunk * 0.6 }, 30).at(-1)!;
    expect(early).to.equal(68);
    expect(late).to.equal(20);
  });

  it('chunkTokens: a prompt gets on where its tokens are very dear', () => {
    const pace = afterDecoding(2.5, 1);
    expect(drive(pace, { decodeMs: 1, tokenMs: (chunk) => chunk * 50 }, 20).at(-1)).to.equal(4);
  });

  it('observe: one slow step, and results that come together, change nothing', () => {
    const pace = afterDecoding(2.5, 10);
    drive(pace, { decodeMs: 10, tokenMs: (chunk) => chunk * 0.5 }, 20);
    const before = pace.chunkTokens(4, 1);
    pace.observe({ decodeRows: 4, prefillTokens: 0, ms: 900 });
    pace.observe({ decodeRows: 4, prefillTokens: 30, ms: 900 });
    for (let step = 0; step < 20; step++) pace.observe({ decodeRows: 4, prefillTokens: 0, ms: 0.01 });
    expect(pace.chunkTokens(4, 1)).to.equal(before);
  });

  it('chunkTokens: where several are about to join, the stretch counts from what a step will take with them', () => {
    const pace = new StepPace(2.5);
    for (const [decodeRows, ms] of [
      [1, 4],
      [8, 16],
    ] as const)
      for (let step = 0; step < 4; step++) pace.observe({ decodeRows, prefillTokens: 0, ms });
    for (let step = 0; step < 4; step++) pace.observe({ decodeRows: 0, prefillTokens: 100, ms: 200 });
    expect(pace.chunkTokens(1, 0), 'nobody').to.equal(7);
    expect(pace.chunkTokens(1, 7), 'a batch').to.equal(15);
  });

  it('chunkTokens: rows fill whole groups of 8, those that decode included', () => {
    const pace = afterDecoding(2.5, 10);
    for (let step = 0; step < 20; step++) pace.observe({ decodeRows: 4, prefillTokens: 40, ms: 30 });
    for (const decodeRows of [1, 3, 4, 7, 8]) expect((decodeRows + pace.chunkTokens(decodeRows, 1)) % 8).to.equal(0);
  });

  it('chunkTokens: without a limit of the stretch, as much as a step takes', () => {
    expect(new StepPace(Infinity).chunkTokens(4, 1)).to.equal(Infinity);
  });
});
