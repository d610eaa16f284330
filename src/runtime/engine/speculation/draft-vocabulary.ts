import { TokenglassError } from '../../../shared/errors.ts';
import type { Tokenizer } from '../../text/tokenizer.ts';

/**
 * A draft model is of use only if its ids mean what the target's do. Vocabularies may differ in length, as some are padded: what both have
 * must be the same.
 * @throws TokenglassError `model-unsupported` with `details.id`, the first id that differs
 */
export function checkDraftVocabulary(target: Tokenizer, draft: Tokenizer): void {
  const shared = Math.min(target.vocabSize, draft.vocabSize);
  for (let id = 0; id < shared; id++) {
    if (target.isControl(id) === draft.isControl(id) && isSame(target.tokenBytes(id), draft.tokenBytes(id))) continue;
    throw mismatch(`token ${id} stands for something else in it`, { id });
  }
  if (shared < Math.max(target.vocabSize, draft.vocabSize) * 0.9)
    throw mismatch(`it has ${draft.vocabSize} tokens, and the model ${target.vocabSize}`, { id: shared });
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function mismatch(what: string, details: Readonly<Record<string, unknown>>): TokenglassError {
  const message = `Cannot draft with this model: ${what}; take a smaller model of the same family, with the same vocabulary`;
  return new TokenglassError('model-unsupported', message, { details });
}
