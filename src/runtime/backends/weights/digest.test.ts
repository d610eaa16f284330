import { expect } from 'chai';
import { digestOfDigests, sha256 } from './digest.ts';

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const abc = new TextEncoder().encode('abc');
/** The first example of FIPS 180-2. */
const OF_ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

describe('sha256', () => {
  afterEach(() => void Reflect.deleteProperty(crypto, 'subtle'));
  const leaveSubtleOut = (): unknown =>
    Object.defineProperty(crypto, 'subtle', { value: undefined, configurable: true });

  it('sha256: gives the digest of the standard where there is crypto.subtle', async () => {
    expect(hex(await sha256(abc))).to.equal(OF_ABC);
  });

  it('sha256: gives the same digest on a page that is not secure', async () => {
    leaveSubtleOut();
    expect(hex(await sha256(abc))).to.equal(OF_ABC);
  });

  it('digestOfDigests: names weights alike on a page that is not secure', async () => {
    const digests = [await sha256(abc), await sha256(new Uint8Array(0))];
    const secure = await digestOfDigests(digests);
    leaveSubtleOut();
    expect(await digestOfDigests(digests)).to.equal(secure);
  });
});
