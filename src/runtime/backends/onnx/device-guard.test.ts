import { expect } from 'chai';
import { DeviceGuard } from './device-guard.ts';

const never = (): Promise<never> => new Promise(() => undefined);
const rejection = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

describe('DeviceGuard', () => {
  it('call: one that never returns is rejected by the watchdog, with all that waits, and is known to be stuck', async () => {
    const stuck: Error[] = [];
    const guard = new DeviceGuard(10, (error) => stuck.push(error));
    const waiting = rejection(guard.race(never()));
    const error: unknown = await rejection(guard.call('compute a step', never));
    expect(error).to.include({
      code: 'watchdog',
      message: 'Cannot compute a step: the device did not answer within 10 ms; load the model again',
    });
    expect(await waiting).to.equal(error);
    expect(await guard.lost).to.equal(error);
    expect(stuck).to.deep.equal([error]);
    expect(guard.isPending).to.equal(true);
    let isCalled = false;
    const refused = guard.call('go on', () => Promise.resolve((isCalled = true)));
    expect(await rejection(refused)).to.equal(error);
    expect(isCalled).to.equal(false);
  });

  it('call: a result and an error of the call come through, and nothing stays pending', async () => {
    const guard = new DeviceGuard(1000);
    expect(await guard.call('add', () => Promise.resolve(3))).to.equal(3);
    const error = new RangeError('x');
    expect(await rejection(guard.call('add', () => Promise.reject(error)))).to.equal(error);
    expect(guard.isPending).to.equal(false);
    expect(guard.error).to.equal(undefined);
  });

  it('lose: only the first loss counts, and none after a release', async () => {
    const guard = new DeviceGuard(1000, () => expect.fail('nothing is pending'));
    const first = new RangeError('first');
    guard.lose(first);
    guard.lose(new RangeError('second'));
    expect(await guard.lost).to.equal(first);
    expect(await rejection(guard.race(Promise.resolve(1)))).to.equal(first);
    const released = new DeviceGuard(1000);
    released.isReleased = true;
    released.lose(first);
    expect(released.error).to.equal(undefined);
  });
});
