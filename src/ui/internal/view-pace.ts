import type { EngineInfo } from '../../shared/info.ts';

/** Least time between two readings of a view. */
export interface ViewPace {
  liveMs: number;
  deepMs: number;
}

/**
 * How often the page follows a stream: digits and the bars of tokens (faster cannot be read), and what is computed over many steps. Where
 * the CPU computes the model too, each redraw takes from it, so there are fewer.
 */
const PACE = { gpu: { liveMs: 150, deepMs: 600 }, cpu: { liveMs: 400, deepMs: 3000 } } as const;

export function paceOf(info: EngineInfo | undefined): ViewPace {
  return info?.threads !== undefined || info?.adapter?.isFallback ? PACE.cpu : PACE.gpu;
}
