import { expect } from 'chai';
import { StepTimer } from './step-timer.ts';

describe('StepTimer', () => {
  const between = (begin: bigint, end: bigint, mostMs: number): number | undefined =>
    StepTimer.milliseconds(new BigUint64Array([7n, begin, end]).buffer, 8, mostMs);

  it('StepTimer: nanoseconds to milliseconds', () => {
    expect(between(5_000_000n, 9_500_000n, 20)).to.equal(4.5);
    expect(between(5_000_000n, 9_500_000n, 4.4)).to.equal(4.5);
  });

  it('StepTimer: nothing for timestamps that are equal, run backwards, or say more than the time that went by', () => {
    expect(between(5n, 5n, 20)).to.equal(undefined);
    expect(between(9_000_000n, 5_000_000n, 20)).to.equal(undefined);
    // A begin of 0 gives the time since the device was started.
    expect(between(0n, 3_600_000_000_000n, 20)).to.equal(undefined);
  });
});
