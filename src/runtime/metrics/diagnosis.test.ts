import { expect } from 'chai';
import { diagnose, type Diagnosis, type Verdict } from './diagnosis.ts';
import type { DiagnosisContext } from './step-split.ts';
import { madeSteps, madeStepMs, ROUND_DEVICE, type MadeStep } from './testing/known-bottleneck.ts';
import { TraceLog } from './trace-log.ts';

const GPU: DiagnosisContext = { device: 'gpu', peaks: ROUND_DEVICE };

/** Twelve steps whose bottleneck is known because they were put together so. */
const CASES: readonly [name: string, step: MadeStep, verdict: Verdict][] = [
  ['memory alone', { memoryMs: 8, computeMs: 0.1, dispatches: 40, readbackMs: 0.4, encodeMs: 0.1 }, 'memory'],
  ['memory, kernels at 70 % of the roof', { memoryMs: 7, efficiency: 0.7, dispatches: 60, readbackMs: 0.5 }, 'memory'],
  ['memory, no timestamps', { memoryMs: 9, computeMs: 1, dispatches: 50, readbackMs: 0.5, untimed: true }, 'memory'],
  [
    'compute of a prefill',
    { kind: 'prefill', memoryMs: 2, computeMs: 30, dispatches: 60, readbackMs: 0.5, encodeMs: 0.5 },
    'compute',
  ],
  [
    'compute, no timestamps',
    { kind: 'prefill', memoryMs: 2, computeMs: 20, efficiency: 0.8, dispatches: 60, untimed: true },
    'compute',
  ],
  ['300 dispatches of a small model', { memoryMs: 0.5, dispatches: 300, readbackMs: 0.5, encodeMs: 0.2 }, 'dispatch'],
  ['dispatches, no timestamps', { memoryMs: 1, dispatches: 400, readbackMs: 0.5, untimed: true }, 'dispatch'],
  ['a slow readback', { memoryMs: 1.5, dispatches: 30, readbackMs: 4, encodeMs: 0.2 }, 'readback'],
  ['a delay between steps', { memoryMs: 2, dispatches: 50, readbackMs: 0.5, gapMs: 12 }, 'host'],
  ['sampling on the CPU', { memoryMs: 2, dispatches: 30, readbackMs: 0.5, encodeMs: 1, sampleMs: 5 }, 'host'],
  [
    'mixture: memory ahead of dispatches and host',
    { memoryMs: 5, computeMs: 2, dispatches: 180, readbackMs: 1, gapMs: 2 },
    'memory',
  ],
  [
    'mixture: dispatches ahead of memory and readback',
    { memoryMs: 3, computeMs: 1, efficiency: 0.9, dispatches: 250, readbackMs: 2.5, encodeMs: 1 },
    'dispatch',
  ],
];

const decodeOf = (step: MadeStep, context = GPU): Diagnosis =>
  diagnose(madeSteps(step), step.kind ?? 'decode', context);

describe('diagnose', () => {
  for (const [name, step, verdict] of CASES) {
    it(`diagnose: names the known bottleneck of ${name}`, () => {
      const diagnosis = decodeOf(step);
      expect(diagnosis.verdict, diagnosis.finding).to.equal(verdict);
      expect(diagnosis.n).to.equal(7);
      expect(diagnosis.stepMs).to.be.closeTo(madeStepMs(step), 1e-9);
      expect(diagnosis.finding).to.match(/\d/);
      expect(diagnosis.advice).to.match(/\d\.\d x\.$/);
    });

    it(`diagnose: parts of ${name} add up to the step`, () => {
      const { parts, unexplainedMs, stepMs } = decodeOf(step);
      const sum = Object.values(parts).reduce((total, ms) => total + ms, unexplainedMs);
      expect(sum).to.be.closeTo(stepMs!, 1e-9);
    });
  }

  it('diagnose: each part is what the step was put together from', () => {
    const { parts, unexplainedMs } = decodeOf({
      memoryMs: 6,
      computeMs: 2,
      efficiency: 0.75,
      dispatches: 100,
      readbackMs: 1.5,
      encodeMs: 0.5,
      sampleMs: 0.25,
      gapMs: 0.75,
    });
    expect(parts.memoryMs).to.be.closeTo(6, 1e-9);
    expect(parts.computeMs).to.equal(0);
    expect(parts.dispatchMs).to.be.closeTo(2, 1e-9);
    expect(parts.readbackMs).to.be.closeTo(1.5, 1e-9);
    expect(parts.hostMs).to.be.closeTo(1.5, 1e-9);
    expect(unexplainedMs).to.be.closeTo(2, 1e-9);
  });

  it('diagnose: what is starved moves its own share by what was added', () => {
    const base: MadeStep = { memoryMs: 4, efficiency: 0.8, dispatches: 60, readbackMs: 0.6, encodeMs: 0.3, gapMs: 0.2 };
    const before = decodeOf(base).parts;
    const starved: [keyof typeof before, MadeStep, number][] = [
      ['memoryMs', { ...base, memoryMs: 8 }, 4],
      ['dispatchMs', { ...base, dispatches: 360 }, 6],
      ['readbackMs', { ...base, readbackMs: 3.6 }, 3],
      ['hostMs', { ...base, gapMs: 5.2 }, 5],
    ];
    for (const [part, step, addedMs] of starved) {
      const after = decodeOf(step).parts;
      expect(after[part]! - before[part]!, part).to.be.closeTo(addedMs, 1e-9);
      for (const other of ['memoryMs', 'dispatchMs', 'readbackMs', 'hostMs'] as const) {
        if (other !== part) expect(after[other], `${other} when ${part} grows`).to.be.closeTo(before[other]!, 1e-9);
      }
    }
  });

  it('diagnose: the batch is named where others take most of the step', () => {
    const shared: MadeStep = {
      memoryMs: 10,
      computeMs: 1,
      weightShare: 0.1,
      batch: 8,
      dispatches: 30,
      readbackMs: 0.4,
    };
    const diagnosis = decodeOf(shared);
    expect(diagnosis.verdict).to.equal('batch');
    // Alone: 1 ms of weights and an eighth of 9 ms of KV.
    expect(diagnosis.batchMs).to.be.closeTo(10 - (1 + 9 / 8), 1e-9);
    expect(decodeOf({ ...shared, weightShare: 0.95 }).verdict).to.equal('memory');
  });

  it('diagnose: says how much half the bytes would give, and no more than compute allows', () => {
    const words = decodeOf({ memoryMs: 7.8, dispatches: 10, readbackMs: 2 });
    expect(words.finding).to.equal('Memory-bound: 78 % of 100 GB/s, reading 780 MB in steps of 10 ms.');
    expect(words.advice).to.contain('Half the bytes').and.to.contain('1.6 x');
    expect(words.plain).to.not.match(/\d|GB|bound/);
    // Half of 8 ms would be 4, but 6 ms of arithmetic come to light.
    expect(decodeOf({ memoryMs: 8, computeMs: 6, readbackMs: 0.2 }).speedUp).to.be.closeTo(8.2 / 6.2, 1e-9);
  });

  it('diagnose: a verdict with less than the unexplained rest is weak, one that is followed closely mixed', () => {
    const weak = decodeOf({ memoryMs: 3, efficiency: 0.3, readbackMs: 0.2, gapMs: 4 });
    expect(weak).to.include({ verdict: 'memory', certainty: 'weak' });
    expect(weak.belowRoofMs).to.be.closeTo(7, 1e-9);
    expect(weak.finding).to.contain('far below the roof: kernels reach 21 % of 100 GB/s');
    // 14.2 ms, of which kernels at the roof would save 7.
    expect(weak.speedUp).to.be.closeTo(14.2 / 7.2, 1e-9);
    expect(weak.plain).to.contain('not as fast as it could');
    const slow = decodeOf({ memoryMs: 0.05, efficiency: 0.005, dispatches: 10 });
    expect(slow.finding).to.contain('kernels reach under 1 % of 100 GB/s');
    const mixed = decodeOf({ memoryMs: 5, dispatches: 200, readbackMs: 0.2 });
    expect(mixed).to.include({ verdict: 'memory', certainty: 'mixed', runnerUp: 'dispatch' });
    expect(decodeOf({ memoryMs: 9, readbackMs: 0.5 }).certainty).to.equal('clear');
  });

  it('diagnose: steps of a hidden page are left out and counted', () => {
    const log = new TraceLog({ isHidden: () => true });
    for (const { step } of madeSteps({ memoryMs: 5 })) log.addStep(step);
    const diagnosis = diagnose(log.steps, 'decode', GPU);
    expect(diagnosis).to.include({ n: 0, hiddenSteps: 7 });
    expect(diagnosis.verdict).to.equal(undefined);
    expect(diagnosis.finding).to.contain('hidden');
  });

  it('diagnose: without bytes the size of the model stands in, and that is said', () => {
    const step: MadeStep = { memoryMs: 8, readbackMs: 0.5, uncounted: true, untimed: true };
    const model = { weightBytes: 800e6, kvBytesPerToken: 0, parameters: 1.5e9 };
    const estimated = diagnose(madeSteps(step), 'decode', { ...GPU, model });
    expect(estimated.verdict).to.equal('memory');
    expect(estimated.parts.memoryMs).to.be.closeTo(8, 1e-9);
    expect(estimated.parts.dispatchMs).to.equal(undefined);
    expect(estimated.caveats.join(' ')).to.contain('estimated').and.to.contain('timestamps');
    const blind = diagnose(madeSteps(step), 'decode', GPU);
    expect(blind.parts).to.not.have.any.keys('memoryMs', 'computeMs', 'dispatchMs');
    expect(blind.unexplainedMs).to.be.closeTo(8, 1e-9);
    expect(blind.verdict).to.equal('readback');
    expect(blind.certainty).to.equal('weak');
    expect(blind.finding).to.contain('computing or waiting');
  });

  it('diagnose: without timestamps a wait far beyond credible kernels is one, and its part stays unexplained', () => {
    const waiting = decodeOf({ memoryMs: 0.5, dispatches: 10, readbackMs: 9, untimed: true });
    expect(waiting).to.include({ verdict: 'readback', certainty: 'weak' });
    expect(waiting.parts.readbackMs).to.equal(ROUND_DEVICE.readbackMs);
    expect(waiting.computeOrWaitMs).to.be.closeTo(8.5, 1e-9);
    const slow = decodeOf({ memoryMs: 4, efficiency: 0.4, dispatches: 10, readbackMs: 0.5, untimed: true });
    expect(slow.verdict).to.equal('memory');
  });

  it('diagnose: small parts around work that nothing is known of are no verdict', () => {
    const log = new TraceLog();
    for (let i = 0; i < 3; i++) {
      log.addStep({
        kind: 'decode',
        startedAtMs: i * 10,
        timing: { totalMs: 10, encodeMs: 0.5, submitMs: 9 },
        batch: 1,
        tokens: 1,
        contextTokens: 5 + i,
      });
    }
    const diagnosis = diagnose(log.steps, 'decode', { device: 'cpu', peaks: {} });
    expect(diagnosis.verdict).to.equal(undefined);
    expect(diagnosis.belowRoofMs).to.be.closeTo(9, 1e-9);
  });

  it('diagnose: without anything known there is no verdict, but a sentence', () => {
    const log = new TraceLog();
    log.addStep({
      kind: 'decode',
      startedAtMs: 0,
      timing: { totalMs: 10 },
      batch: 1,
      tokens: 1,
      contextTokens: 5,
    });
    const diagnosis = diagnose(log.steps, 'decode', { device: 'gpu', peaks: {} });
    expect(diagnosis.verdict).to.equal(undefined);
    expect(diagnosis.unexplainedMs).to.equal(10);
    expect(diagnosis.finding).to.contain('too little is known');
    expect(diagnose([], 'decode', GPU).finding).to.contain('no steps');
  });

  it('diagnose: on the CPU the call computes, and is no host time', () => {
    const log = new TraceLog();
    for (let i = 0; i < 4; i++) {
      log.addStep({
        kind: 'decode',
        startedAtMs: i * 11,
        timing: { totalMs: 10, encodeMs: 0.2, submitMs: 9.3, sampleMs: 0.5 },
        batch: 1,
        tokens: 1,
        contextTokens: 10 + i,
      });
    }
    const model = { weightBytes: 80e6, kvBytesPerToken: 0, parameters: 150e6 };
    const peaks = { bytesPerSecond: 10e9, flopPerSecond: 100e9 };
    const { verdict, parts, unexplainedMs } = diagnose(log.steps.slice(1), 'decode', { device: 'cpu', peaks, model });
    expect(verdict).to.equal('memory');
    expect(parts.memoryMs).to.be.closeTo(8, 1e-9);
    expect(parts.hostMs).to.be.closeTo(1.7, 1e-9);
    expect(parts.readbackMs).to.equal(undefined);
    expect(unexplainedMs).to.be.closeTo(1.3, 1e-9);
  });

  it('diagnose: work that is faster than the probed roof is not more than the whole', () => {
    const peaks = { ...ROUND_DEVICE, bytesPerSecond: 50e9 };
    const { parts, stepMs, caveats, roofline } = decodeOf({ memoryMs: 8 }, { device: 'gpu', peaks });
    expect(parts.memoryMs).to.be.closeTo(stepMs!, 1e-9);
    expect(roofline.shareOfFloor).to.be.closeTo(2, 1e-9);
    expect(caveats.join(' ')).to.contain('faster than the measured peaks');
  });

  it('diagnose: with steps in flight together only what sticks out of the device is host time', () => {
    // Three in flight, the GPU busy all the time: 4 ms of memory each, 3 ms of encoding hidden behind them.
    const log = new TraceLog();
    for (let i = 0; i < 12; i++) {
      log.addStep({
        kind: 'decode',
        startedAtMs: i * 4,
        timing: { totalMs: 12, encodeMs: 3, submitMs: 0, gpuMs: 4, readbackMs: 5 },
        batch: 1,
        tokens: 1,
        contextTokens: 10 + i,
        bytes: { weights: 400e6, kv: 0, activations: 0 },
        flop: 0,
        dispatches: 0,
      });
    }
    const hidden = diagnose(log.steps.slice(4), 'decode', GPU);
    expect(hidden.stepMs).to.equal(4);
    expect(hidden.verdict).to.equal('memory');
    expect(hidden.parts.hostMs).to.equal(0);
    // The same with 10 ms of encoding, which then sets the pace.
    const slow = new TraceLog();
    for (let i = 0; i < 12; i++) {
      const { step } = log.steps[i]!;
      slow.addStep({ ...step, startedAtMs: i * 10, timing: { ...step.timing, totalMs: 30, encodeMs: 10 } });
    }
    const paced = diagnose(slow.steps.slice(4), 'decode', GPU);
    expect(paced.stepMs).to.equal(10);
    expect(paced.verdict).to.equal('host');
    expect(paced.parts.hostMs).to.be.closeTo(6, 1e-9);
  });

  it('diagnose: where tokens are drafted, says whose time that is', () => {
    const recorded = madeSteps({ memoryMs: 8 });
    const drafting = recorded.map((each) => ({ ...each, step: { ...each.step, drafted: 3, accepted: 1 } }));
    expect(diagnose(recorded, 'decode', GPU).caveats.join(' ')).not.to.contain('drafted');
    expect(diagnose(drafting, 'decode', GPU).caveats.join(' ')).to.contain('drafted between the steps');
  });
});
