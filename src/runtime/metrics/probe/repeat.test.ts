import { expect } from 'chai';
import { measurementOf } from './device-probe.ts';
import { measureRate } from './repeat.ts';
import { timerResolutionMs, tooCoarse } from './timer.ts';

describe('measurementOf', () => {
  it('measurementOf: median, and spread relative to it', () => {
    expect(measurementOf([10, 12, 8])).to.deep.equal({ value: 10, spread: 0.4, n: 3 });
    expect(measurementOf([4, 2])).to.deep.equal({ value: 3, spread: 2 / 3, n: 2 });
    expect(() => measurementOf([])).to.throw(RangeError);
  });
});

describe('timerResolutionMs', () => {
  it('timerResolutionMs: the smallest step of a clock, and no end of a step for one that stands still', () => {
    let calls = 0;
    expect(timerResolutionMs({ now: () => Math.floor(calls++ / 10) * 0.125 })).to.equal(0.125);
    expect(timerResolutionMs({ now: () => 5 })).to.equal(Infinity);
  });

  it('tooCoarse: less than twenty steps are no measurement', () => {
    expect(tooCoarse(2, 0.1)).to.equal(undefined);
    expect(tooCoarse(1.9, 0.1)).to.contain('steps of 0.1 ms');
    expect(tooCoarse(100, Infinity)).to.contain('stands still');
    expect(tooCoarse(-1, 0.1)).to.not.equal(undefined);
  });
});

describe('measureRate', () => {
  /** A machine that takes 0.5 ms a unit, on a clock of 0.1 ms. */
  const machine = (calls: number[]) => (units: number) => {
    calls.push(units);
    return Promise.resolve(Math.round(units * 5) / 10);
  };

  it('measureRate: raises the work until it takes long enough, then repeats it', async () => {
    const calls: number[] = [];
    const outcome = await measureRate(machine(calls), { timerResolutionMs: 0.1, targetMs: 20 });
    expect(outcome).to.deep.equal({ measurement: { value: 2, spread: 0, n: 5 } });
    expect(new Set(calls.slice(-5)).size).to.equal(1);
    expect(calls.at(-1)! * 0.5).to.be.within(14, 25);
  });

  it('measureRate: a coarse clock makes it longer, and one that is too coarse refuses', async () => {
    const calls: number[] = [];
    await measureRate(machine(calls), { timerResolutionMs: 5, targetMs: 20 });
    expect(calls.at(-1)! * 0.5).to.be.at.least(100);
    const refused = await measureRate(machine([]), { timerResolutionMs: 16.7, targetMs: 20 });
    expect(refused).to.have.property('reason').that.contains('too coarse');
  });

  it('measureRate: work that never takes long enough is refused', async () => {
    const outcome = await measureRate(() => Promise.resolve(0), { timerResolutionMs: 0.1 });
    expect(outcome).to.have.property('reason');
  });
});
