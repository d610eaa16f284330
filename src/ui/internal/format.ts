/** Shown where a figure is not known. Never 0, never NaN. */
export const ABSENT = '–';

export interface Figure {
  /** Digits, or {@link ABSENT}. */
  value: string;
  unit: string;
  /** How it is read out. */
  spoken: string;
}

const formats = new Map<number, Intl.NumberFormat>();

/** A number with that many decimals, in the reader's language. */
function digits(value: number, decimals: number): string {
  let format = formats.get(decimals);
  if (!format) {
    format = new Intl.NumberFormat(undefined, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    formats.set(decimals, format);
  }
  return format.format(value);
}

/** Three significant digits at most, and never more than one or two decimals: what a measurement of this kind carries. */
function measured(value: number): string {
  const size = Math.abs(value);
  return digits(value, size < 1 ? 2 : size < 99.95 ? 1 : 0);
}

const absent = (unit: string): Figure => ({ value: ABSENT, unit, spoken: 'not measured' });

const isKnown = (value: number | undefined): value is number => value !== undefined && Number.isFinite(value);

/** A duration: ms, and s from 10 s up. */
export function formatMs(ms: number | undefined): Figure {
  if (!isKnown(ms)) return absent('ms');
  if (ms >= 9_999.5) {
    const value = digits(ms / 1000, 1);
    return { value, unit: 's', spoken: `${value} seconds` };
  }
  const value = measured(ms);
  return { value, unit: 'ms', spoken: `${value} milliseconds` };
}

/** Digits alone, for a column or an axis that says ms: of any size. */
export const formatMsDigits = (ms: number | undefined): string => (isKnown(ms) ? measured(ms) : ABSENT);

/** A duration with its unit, for a sentence: "8.3 ms", "12.0 s". */
export function formatDuration(ms: number | undefined): string {
  const { value, unit } = formatMs(ms);
  return `${value} ${unit}`;
}

export function formatMsPerToken(ms: number | undefined): Figure {
  const { value, spoken } = formatMs(ms);
  const unit = isKnown(ms) && ms >= 9_999.5 ? 's/token' : 'ms/token';
  return { value, unit, spoken: isKnown(ms) ? `${spoken} a token` : spoken };
}

export function formatRate(tokensPerSecond: number | undefined): Figure {
  if (!isKnown(tokensPerSecond)) return absent('tok/s');
  const value = measured(tokensPerSecond);
  return { value, unit: 'tok/s', spoken: `${value} tokens a second` };
}

/** A part of a whole, from 0 to 1, as percent. */
export function formatShare(share: number | undefined): Figure {
  if (!isKnown(share)) return absent('%');
  const value = digits(share * 100, 0);
  return { value, unit: '%', spoken: `${value} percent` };
}

/** A number of any size with that many significant digits. */
export function formatSignificant(value: number | undefined, significant = 2): string {
  return isKnown(value)
    ? value.toLocaleString(undefined, { maximumSignificantDigits: Math.abs(value) >= 100 ? 3 : significant })
    : ABSENT;
}

/** A count; without decimals. */
export function formatCount(count: number | undefined): string {
  return isKnown(count) ? digits(count, 0) : ABSENT;
}

const AGO_UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const;

/** How long ago something was, for a sentence: "just now", "2 minutes ago", "yesterday". */
export function formatAgo(ms: number): string {
  for (const [size, unit] of AGO_UNITS) {
    if (ms < size) continue;
    return new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }).format(-Math.floor(ms / size), unit);
  }
  return 'just now';
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Bytes in decimal units, as storage and bandwidth are given. */
export function formatBytes(bytes: number | undefined): string {
  if (!isKnown(bytes)) return ABSENT;
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), BYTE_UNITS.length - 1);
  const scaled = bytes / 1000 ** power;
  return `${digits(scaled, power === 0 || scaled >= 100 ? 0 : 1)} ${BYTE_UNITS[power]}`;
}

const LARGE_UNITS = [
  [1e12, 'T'],
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

/** How parameters are counted: 6.5M, 1.1B. */
export function formatParameters(count: number | undefined): string {
  if (!isKnown(count) || count <= 0) return ABSENT;
  for (const [size, unit] of LARGE_UNITS)
    // Not "1,000M" for what rounds to a billion.
    if (count >= size * 0.9995) return `${digits(count / size, count / size < 9.95 ? 1 : 0)}${unit}`;
  return digits(count, 0);
}
