import type uPlot from 'uplot';
import type { ChartTheme } from './chart-theme.ts';

/** Digits of an axis: short, in the reader's language. */
export const axisDigits = (value: number): string => value.toLocaleString(undefined, { maximumFractionDigits: 3 });

const SUPERSCRIPT = ['k', 'M', 'G', 'T', 'P'] as const;

/** 1500000 is 1.5M: for axes whose numbers span magnitudes. */
export function axisMagnitude(value: number): string {
  if (value < 1000) return axisDigits(value);
  const power = Math.min(Math.floor(Math.log10(value) / 3 + 1e-9), SUPERSCRIPT.length);
  return `${axisDigits(value / 1000 ** power)}${SUPERSCRIPT[power - 1] ?? ''}`;
}

/** Hairlines and small digits; the words that name an axis are beside the chart, where they can be read. */
export function axis(theme: ChartTheme, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    stroke: theme.colour('ink-3'),
    font: theme.font,
    gap: 4,
    ticks: { show: false },
    grid: { stroke: theme.colour('line'), width: 1 },
    values: (_, splits) => splits.map((value) => axisDigits(value)),
    ...more,
  };
}

/** The axis of what is counted or measured in order: no grid lines, they would compete with the bars. */
export const plainAxis = (theme: ChartTheme, more: uPlot.Axis = {}): uPlot.Axis =>
  axis(theme, { grid: { show: false }, size: 24, ...more });
