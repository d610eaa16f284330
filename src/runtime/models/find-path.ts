import { TokenglassError } from '../../shared/errors.ts';
import { splitSet } from './gguf-split.ts';

/**
 * The one path that a pattern means; `*` stands for any characters, `/` included, and upper and lower case are the same. Of a split set, the
 * first file stands for all.
 *
 * @throws TokenglassError `model-not-found` if none or several match
 */
export function findPath(paths: readonly string[], pattern: string, model: string): string {
  if (paths.includes(pattern)) return pattern;
  const isPattern = pattern.includes('*');
  const expression = new RegExp(`^${pattern.split('*').map(escape).join('.*')}$`, 'i');
  const matching = isPattern ? paths.filter((path) => expression.test(path)) : [];
  const firsts = [...new Set(matching.map((path) => splitSet(path)?.[0] ?? path))];
  if (firsts.length === 1) return firsts[0]!;
  const details = { path: pattern, status: 404, matching: firsts };
  const what = firsts.length === 0 ? 'there is no such file' : `it means several files (${some(firsts)})`;
  const message = `Cannot load ${pattern} of ${model}: ${what}; name one of ${some(firsts.length === 0 ? paths : firsts)}`;
  throw new TokenglassError('model-not-found', message, { details });
}

const escape = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');

/** Enough names for a sentence. */
function some(paths: readonly string[]): string {
  const weights = paths.filter((path) => /\.(?:gguf|onnx)$/i.test(path));
  const shown = (weights.length > 0 ? weights : paths).slice(0, 6);
  return shown.join(', ') + (shown.length < paths.length ? ', ...' : '');
}
