/** Ticks in a strip. */
export const TICK_COUNT = 96;
/** A tick and the space after it, in units of the view. */
const PITCH = 4;
const TICK_WIDTH = 3;
export const VIEW_WIDTH = TICK_COUNT * PITCH - (PITCH - TICK_WIDTH);
export const VIEW_HEIGHT = 56;
/** Below the base line, where the foot of a slow tick is. */
const FOOT = 4;
const BASE = VIEW_HEIGHT - FOOT - 2;

export interface TickPaths {
  /** SVG path of the ticks up to the limit, and of those beyond it. */
  usual: string;
  slow: string;
  /** The gap that a tick of full height stands for; absent without gaps. */
  topMs: number | undefined;
}

/**
 * Ticks from the right, the newest last. The scale reaches the largest gap, so that nothing is cut off; a lone stall makes the
 * others small, which is what it did.
 */
export function tickPaths(gapsMs: readonly number[], slowMs: number): TickPaths {
  if (gapsMs.length === 0) return { usual: '', slow: '', topMs: undefined };
  const topMs = Math.max(...gapsMs);
  const usual: string[] = [];
  const slow: string[] = [];
  const first = TICK_COUNT - gapsMs.length;
  for (const [index, gapMs] of gapsMs.entries()) {
    const x = (first + index) * PITCH;
    const height = topMs > 0 ? Math.max(1, Math.round((gapMs / topMs) * BASE * 10) / 10) : 1;
    const tick = `M${x} ${BASE}v${-height}h${TICK_WIDTH}v${height}z`;
    if (gapMs > slowMs) slow.push(`${tick}M${x} ${BASE + 2}h${TICK_WIDTH}v${FOOT}h${-TICK_WIDTH}z`);
    else usual.push(tick);
  }
  return { usual: usual.join(''), slow: slow.join(''), topMs };
}
