import type { RooflinePeaks } from '../../runtime/metrics/roofline.ts';
import { attainableFlopPerSecond } from '../../runtime/metrics/roofline.ts';

/** A kind of step under the roof. */
export interface RooflinePoint {
  kind: 'decode' | 'prefill';
  /** FLOP/byte. */
  intensity: number;
  gflops: number;
  /** Floor / time; absent where the device was not measured. */
  shareOfFloor?: number | undefined;
}

export interface RooflineView {
  /** FLOP/byte, ascending; log-spaced. */
  intensity: number[];
  /** GFLOP/s of the roof there; null where it is not known. */
  roof: (number | null)[];
  xRange: [number, number];
  yRange: [number, number];
}

const SAMPLES = 96;
const decadeBelow = (value: number): number => 10 ** Math.floor(Math.log10(value));
const decadeAbove = (value: number): number => 10 ** Math.ceil(Math.log10(value) + 1e-9);

/** Whole decades around the points, the ridge and the peak, so that the roof's slope and its flat part are both to be seen. */
export function rooflineView(points: readonly RooflinePoint[], peaks: RooflinePeaks): RooflineView | undefined {
  const { bytesPerSecond, flopPerSecond } = peaks;
  const ridge =
    bytesPerSecond !== undefined && flopPerSecond !== undefined && bytesPerSecond > 0
      ? flopPerSecond / bytesPerSecond
      : undefined;
  const usable = points.filter(({ intensity, gflops }) => intensity > 0 && gflops > 0);
  const xs = [...usable.map(({ intensity }) => intensity), ...(ridge === undefined ? [] : [ridge / 8, ridge * 8])];
  if (xs.length === 0) return undefined;
  const xRange: [number, number] = [decadeBelow(Math.min(...xs) / 2), decadeAbove(Math.max(...xs) * 2)];
  const [low, high] = [Math.log10(xRange[0]), Math.log10(xRange[1])];
  const intensity = Array.from({ length: SAMPLES }, (_, at) => 10 ** (low + ((high - low) * at) / (SAMPLES - 1)));
  // The corner itself, or the line would be cut where two samples straddle it.
  if (ridge !== undefined && ridge > xRange[0] && ridge < xRange[1]) {
    intensity.push(ridge);
    intensity.sort((a, b) => a - b);
  }
  const roof = intensity.map((at) => {
    const flop = attainableFlopPerSecond(at, peaks);
    return flop === undefined ? null : flop / 1e9;
  });
  const ys = [...usable.map(({ gflops }) => gflops), ...roof.filter((value) => value !== null)];
  const yRange: [number, number] = [
    decadeBelow(Math.min(...(usable.length > 0 ? usable.map(({ gflops }) => gflops) : ys)) / 2),
    decadeAbove(Math.max(...ys) * 1.3),
  ];
  return { intensity, roof, xRange, yRange };
}
