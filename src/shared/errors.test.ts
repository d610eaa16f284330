import { expect } from 'chai';
import { abortError, isTokenglassError, TokenglassError } from './errors.ts';

describe('isTokenglassError', () => {
  it('isTokenglassError: compares name and code, so that a clone without the class is still recognised', () => {
    const error = new TokenglassError('device-lost', 'Cannot decode: the device was lost; load the model again');
    expect(isTokenglassError(error, 'device-lost')).to.equal(true);
    expect(isTokenglassError(error, 'worker-dead')).to.equal(false);
    expect(isTokenglassError({ name: 'TokenglassError', code: 'network', message: '' }, 'network')).to.equal(true);
    expect(isTokenglassError(new Error('x'))).to.equal(false);
    expect(isTokenglassError(undefined)).to.equal(false);
  });
});

describe('abortError', () => {
  it('abortError: is an AbortError whatever the reason of the signal', () => {
    const controller = new AbortController();
    controller.abort('because');
    expect(abortError(controller.signal).name).to.equal('AbortError');
  });
});
