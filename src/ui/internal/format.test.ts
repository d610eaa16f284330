import { expect } from 'chai';
import {
  ABSENT,
  formatBytes,
  formatCount,
  formatDuration,
  formatMs,
  formatMsDigits,
  formatMsPerToken,
  formatParameters,
  formatRate,
} from './format.ts';

// Digits are in the reader's language; the tests read them in English, whatever the machine's.
const plain = (text: string) => text.replace(/,(?=\d{1,2}$)/, '.');

describe('format', () => {
  it('formatMs: carries the digits that a measurement has', () => {
    expect([0.456, 8.26, 99.94, 112.4].map((ms) => plain(formatMs(ms).value))).to.deep.equal([
      '0.46',
      '8.3',
      '99.9',
      '112',
    ]);
    expect(plain(formatMs(12_340).value)).to.equal('12.3');
    expect(formatMs(12_340).unit).to.equal('s');
  });

  it('formatMsDigits: stays in ms where formatMs goes over to seconds', () => {
    expect(formatMsDigits(12_340).replace(/\D/g, '')).to.equal('12340');
    expect([0.456, 8.26].map((ms) => plain(formatMsDigits(ms)))).to.deep.equal(['0.46', '8.3']);
    expect(formatMsDigits(undefined)).to.equal(ABSENT);
    expect(plain(formatDuration(12_340).slice(0, 4)) + formatDuration(12_340).slice(4)).to.equal('12.3 s');
  });

  it('formatMs: what is absent is a dash that is read as such, never 0 or NaN', () => {
    for (const absent of [undefined, NaN, Infinity]) {
      expect(formatMs(absent)).to.deep.equal({ value: ABSENT, unit: 'ms', spoken: 'not measured' });
      expect(formatRate(absent).value).to.equal(ABSENT);
      expect(formatMsPerToken(absent).spoken).to.equal('not measured');
      expect([formatCount(absent), formatBytes(absent), formatParameters(absent)]).to.deep.equal([
        ABSENT,
        ABSENT,
        ABSENT,
      ]);
    }
    expect(formatCount(0)).to.equal('0');
  });

  it('formatBytes: decimal units', () => {
    expect([0, 999, 3_700_000, 128e9].map((bytes) => plain(formatBytes(bytes)).replace(',', '.'))).to.deep.equal([
      '0 B',
      '999 B',
      '3.7 MB',
      '128 GB',
    ]);
  });

  it('formatParameters: as models are named', () => {
    expect(
      [6_500_000, 1_100_000_000, 70e9, 999_885_952, 940].map((n) => formatParameters(n).replace(',', '.')),
    ).to.deep.equal(['6.5M', '1.1B', '70B', '1.0B', '940']);
  });
});
