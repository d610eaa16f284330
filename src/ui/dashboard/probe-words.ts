import type { DeviceProbe } from '../../runtime/metrics/probe/device-probe.ts';
import { formatShare, formatSignificant } from '../internal/format.ts';

/** (max - min) / median of a probe's repeats, from which on its number is not to be relied on. */
const UNSTEADY = 0.4;

/** What was measured, with the spread: a number without it says less than it seems to. */
export function probeWords({ readBytesPerSecond, flopPerSecond, dispatchMs, tookMs }: DeviceProbe): string {
  const spread = (share: number) => `± ${formatShare(share / 2).value} %`;
  const { f32 } = flopPerSecond;
  const measured = [
    ...(readBytesPerSecond
      ? [`${formatSignificant(readBytesPerSecond.value / 1e9)} GB/s ${spread(readBytesPerSecond.spread)}`]
      : []),
    ...(f32 ? [`${formatSignificant(f32.value / 1e9)} GFLOP/s in f32 ${spread(f32.spread)}`] : []),
    ...(dispatchMs ? [`${formatSignificant(dispatchMs.value * 1000)} µs for a dispatch`] : []),
  ];
  if (measured.length === 0) return 'Nothing could be measured honestly on this device.';
  const isUnsteady = [readBytesPerSecond, f32].some((rate) => rate !== undefined && rate.spread > UNSTEADY);
  const doubt = isUnsteady
    ? ' The repeats differ a lot: something else keeps the device busy; measure again when it rests.'
    : '';
  return `Measured here in ${formatSignificant(tookMs / 1000)} s: ${measured.join(', ')}.${doubt}`;
}
