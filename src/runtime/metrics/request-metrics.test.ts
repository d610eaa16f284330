import { expect } from 'chai';
import { e2e, e2eResidual, modelE2e } from './e2e.ts';
import { itl } from './itl.ts';
import { decodeRate, prefillRate, systemRate } from './rates.ts';
import { handMadeTrace } from './testing/hand-made-trace.ts';
import { tpot } from './tpot.ts';
import { ttft, ttftParts } from './ttft.ts';

/** Sent at 0, tokens at 500, 520 and 540. */
const three = handMadeTrace([500, 520, 540]);
const one = handMadeTrace([500]);
/** The answer was an end token alone: a token, a delta without text, but no first text. */
const noText = handMadeTrace([500]);
delete noText.marks.firstDeltaMs;
delete noText.marks.firstDeliveredMs;
/** Aborted in the queue. */
const nothing = handMadeTrace([]);

describe('ttft', () => {
  it('ttft: is from the call to the first delivered text', () => {
    expect(ttft(three)).to.equal(500);
    expect(ttft(handMadeTrace([500, 520], { marks: { calledMs: 120 } }))).to.equal(380);
  });

  it('ttft: an empty or role-only first chunk does not end it', () => {
    // The first token, at 300, was half a character: its delta was empty. Text came at 500.
    const trace = handMadeTrace([300, 500], { marks: { firstDeltaMs: 500, firstDeliveredMs: 500 } });
    expect(ttft(trace)).to.equal(500);
    expect(ttftParts(trace)).to.deep.equal({ firstSampleMs: 300, deliveryMs: 200 });
  });

  it('ttft: is absent when no text came', () => {
    for (const trace of [noText, nothing]) {
      expect(ttft(trace)).to.equal(undefined);
      expect(ttftParts(trace)).to.equal(undefined);
    }
  });

  it('ttftParts: name every stretch and add up to the whole', () => {
    const marks = {
      calledMs: 1000.25,
      startedMs: 1040.5,
      tokenizedMs: 1043,
      cacheReadyMs: 1050,
      prefilledMs: 1400,
      firstTokenMs: 1410,
      firstDeliveredMs: 1412.5,
    };
    const trace = handMadeTrace([1410], { marks });
    const parts = ttftParts(trace)!;
    expect(parts).to.deep.equal({
      queueMs: 40.25,
      tokenizeMs: 2.5,
      cacheMs: 7,
      prefillMs: 350,
      firstSampleMs: 10,
      deliveryMs: 2.5,
    });
    expect((Object.values(parts) as number[]).reduce((sum, partMs) => sum + partMs, 0)).to.equal(ttft(trace));
  });

  it('ttftParts: a mark that is missing leaves its time to the next part', () => {
    const trace = handMadeTrace([100], { marks: { startedMs: 10, prefilledMs: 90, firstDeliveredMs: 105 } });
    expect(ttftParts(trace)).to.deep.equal({ queueMs: 10, prefillMs: 80, firstSampleMs: 10, deliveryMs: 5 });
  });

  it('ttftParts: marks out of order (two clocks) give no negative part, and the sum holds', () => {
    const trace = handMadeTrace([100], {
      marks: { startedMs: -0.5, tokenizedMs: 3, prefilledMs: 99, firstTokenMs: 100.5 },
    });
    const parts = ttftParts(trace)!;
    expect(parts).to.deep.equal({ queueMs: 0, tokenizeMs: 3, prefillMs: 96, firstSampleMs: 1, deliveryMs: 0 });
    expect(ttft(trace)).to.equal(100);
  });
});

describe('itl', () => {
  it('itl: is each gap between successive tokens', () => {
    expect(itl(three)).to.deep.equal([20, 20]);
    expect(itl(handMadeTrace([500, 505, 560, 560]))).to.deep.equal([5, 55, 0]);
  });

  it('itl: has no gaps for one token or none', () => {
    expect(itl(one)).to.deep.equal([]);
    expect(itl(nothing)).to.deep.equal([]);
  });
});

describe('tpot', () => {
  it('tpot: is what is left of end-to-end after TTFT, by token', () => {
    expect(tpot(three)).to.equal(20);
    expect(tpot(handMadeTrace([500, 505, 560, 590]))).to.equal(30);
  });

  it('tpot: is absent for one token, for none, and without text', () => {
    for (const trace of [one, nothing, noText]) expect(tpot(trace)).to.equal(undefined);
  });

  it('tpot: counts tokens, however many came in one delta', () => {
    // Seven tokens, delivered in two deltas at 500 and 560.
    const trace = handMadeTrace([500, 560], { usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 7 } });
    expect(tpot(trace)).to.equal(10);
  });
});

describe('e2e', () => {
  it('e2e: is from the call to the last delta', () => {
    expect(e2e(three)).to.equal(540);
    expect(e2e(noText)).to.equal(500);
    expect(e2e(nothing)).to.equal(undefined);
  });

  it('modelE2e: is TTFT + (out - 1) * TPOT', () => {
    expect(modelE2e(500, 3, 20)).to.equal(540);
    expect(modelE2e(500, 1, 20)).to.equal(500);
    expect(modelE2e(500, 0, 20)).to.equal(500);
  });

  it('e2eResidual: is 0 with the own figures of the request, and what the model misses with others', () => {
    expect(e2eResidual(three, ttft(three)!, tpot(three)!)).to.deep.equal({
      measuredMs: 540,
      modelMs: 540,
      residualMs: 0,
    });
    expect(e2eResidual(three, 450, 25)).to.deep.equal({ measuredMs: 540, modelMs: 500, residualMs: 40 });
    expect(e2eResidual(nothing, 450, 25)).to.equal(undefined);
  });
});

describe('rates', () => {
  it('prefillRate: counts computed prompt tokens over compute time', () => {
    const usage = { promptTokens: 120, cachedTokens: 20, completionTokens: 1 };
    expect(prefillRate(handMadeTrace([500], { usage, prefillMs: 400 }))).to.equal(250);
  });

  it('prefillRate: is absent when all was cached, when nothing was timed, and for a time of 0', () => {
    const cached = { promptTokens: 20, cachedTokens: 20, completionTokens: 1 };
    expect(prefillRate(handMadeTrace([500], { usage: cached, prefillMs: 1 }))).to.equal(undefined);
    expect(prefillRate(handMadeTrace([500]))).to.equal(undefined);
    expect(prefillRate(handMadeTrace([500], { prefillMs: 0 }))).to.equal(undefined);
  });

  it('decodeRate: is 1000 / TPOT of one user', () => {
    expect(decodeRate(three)).to.equal(50);
    expect(decodeRate(one)).to.equal(undefined);
    expect(decodeRate(handMadeTrace([500, 500]))).to.equal(undefined);
  });

  it('systemRate: is all tokens over the duration of the run', () => {
    const second = handMadeTrace([700, 800, 900, 1000], { marks: { calledMs: 100 } });
    expect(systemRate([three, second])).to.equal(7);
    expect(systemRate([three, second], 3500)).to.equal(2);
    expect(systemRate([])).to.equal(undefined);
    expect(systemRate([nothing])).to.equal(undefined);
  });
});
