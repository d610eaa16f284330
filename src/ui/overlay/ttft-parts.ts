import type { TtftParts } from '../../runtime/metrics/ttft.ts';
import type { Part } from '../parts-bar/parts-bar.ts';

interface NamedPart extends Part {
  /** Completes "most of the wait was ...". */
  doing: string;
}

const NAMES: readonly (readonly [part: keyof TtftParts, key: string, label: string, doing: string])[] = [
  ['queueMs', 'queue', 'Queue', 'waiting for its turn'],
  ['tokenizeMs', 'tokenize', 'Tokenize', 'turning the prompt into tokens'],
  ['cacheMs', 'cache', 'Cache', 'looking into the cache'],
  ['prefillMs', 'prefill', 'Prefill', 'reading the prompt'],
  ['firstSampleMs', 'sample', 'Sample', 'choosing the first token'],
  ['deliveryMs', 'delivery', 'Delivery', 'bringing the text to the page'],
];

/** The parts of TTFT by name, in order of time; all six, so that one that is absent is seen to be. */
export const partsOf = (parts: TtftParts): NamedPart[] =>
  NAMES.map(([part, key, label, doing]) => ({ key, label, doing, ms: parts[part] }));
