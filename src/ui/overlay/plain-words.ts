import type { EngineInfo } from '../../shared/info.ts';
import { formatBytes, formatCount, formatDuration } from '../internal/format.ts';
import type { LiveFigures } from './live-figures.ts';
import { partsOf } from './ttft-parts.ts';

/**
 * Why the last answer was as fast as it was, in sentences made of measured figures only. Empty while there are none.
 */
export function plainWords(info: EngineInfo | undefined, figures: LiveFigures): string[] {
  if (figures.phase !== 'done' && figures.phase !== 'stopped') return [];
  return [firstTokenWords(figures), tokenWords(info, figures)].filter((sentence) => sentence !== undefined);
}

/** Names the largest part of the wait. */
function firstTokenWords({ ttftMs, parts, promptTokens, cachedTokens }: LiveFigures): string | undefined {
  if (ttftMs === undefined || ttftMs <= 0 || !parts) return undefined;
  const largest = partsOf(parts).reduce((most, part) => ((part.ms ?? 0) > (most.ms ?? 0) ? part : most));
  if (largest.ms === undefined) return undefined;
  const share = Math.round((largest.ms / ttftMs) * 100);
  const what = largest.key === 'prefill' ? readingWords(promptTokens, cachedTokens) : largest.doing;
  return `${share} % of the wait for the first word was ${what}.`;
}

function readingWords(promptTokens: number | undefined, cachedTokens = 0): string {
  if (promptTokens === undefined) return 'reading the prompt';
  const read = `reading ${formatCount(promptTokens - cachedTokens)} prompt tokens`;
  return cachedTokens > 0 ? `${read} (${formatCount(cachedTokens)} more came from the cache)` : read;
}

/** Each decode step at batch 1 reads all the weights: the bytes a second that this took. With drafts a step makes several tokens, at one time. */
function tokenWords(info: EngineInfo | undefined, { latency }: LiveFigures): string | undefined {
  const typicalMs = latency.p50Ms;
  if (!info || info.speculation || info.model.weightBytes <= 0 || typicalMs === undefined || typicalMs <= 0)
    return undefined;
  const perSecond = (info.model.weightBytes / typicalMs) * 1000;
  return `Each token reads all ${formatBytes(info.model.weightBytes)} of weights once: in ${formatDuration(typicalMs)}, that is ${formatBytes(perSecond)} a second.`;
}
