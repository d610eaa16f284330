import { expect } from 'chai';
import { fingerprintOf } from './fingerprint.ts';

const bytes = (length: number, seed = 1): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + seed) & 255);

describe('fingerprintOf', () => {
  const external = bytes(200_000);
  const file = { path: 'm.onnx_data', data: new Blob([external]), etag: '"1"' };

  it('fingerprintOf: is the same for the same files', async () => {
    const first = await fingerprintOf({ a: 1 }, bytes(1000), [file]);
    expect(first).to.match(/^sha256:[0-9a-f]{64}$/);
    const again = { ...file, data: new Blob([external.slice()]) };
    expect(await fingerprintOf({ a: 1 }, bytes(1000), [again])).to.equal(first);
  });

  it('fingerprintOf: differs in configuration, model, and path, length, ETag, start and end of external data', async () => {
    const changed = (at: number): Blob => {
      const copy = external.slice();
      copy[at] = copy[at]! ^ 1;
      return new Blob([copy]);
    };
    const names = await Promise.all([
      fingerprintOf({ a: 1 }, bytes(1000), [file]),
      fingerprintOf({ a: 2 }, bytes(1000), [file]),
      fingerprintOf({ a: 1 }, bytes(1000, 2), [file]),
      fingerprintOf({ a: 1 }, bytes(1000), []),
      fingerprintOf({ a: 1 }, bytes(1000), [{ ...file, path: 'n' }]),
      fingerprintOf({ a: 1 }, bytes(1000), [{ ...file, etag: undefined }]),
      fingerprintOf({ a: 1 }, bytes(1000), [{ ...file, data: new Blob([external, bytes(1)]) }]),
      fingerprintOf({ a: 1 }, bytes(1000), [{ ...file, data: changed(0) }]),
      fingerprintOf({ a: 1 }, bytes(1000), [{ ...file, data: changed(199_999) }]),
    ]);
    expect(new Set(names).size).to.equal(names.length);
  });
});
