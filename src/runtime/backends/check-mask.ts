import type { StepRow } from './backend.ts';

/** @throws RangeError for a mask that has not one word for each 32 tokens of the vocabulary */
export function checkMask(mask: StepRow['mask'], vocabSize: number): void {
  const words = Math.ceil(vocabSize / 32);
  if (mask && mask.length !== words) {
    throw new RangeError(`Cannot mask with ${mask.length} words: the vocabulary of ${vocabSize} tokens needs ${words}`);
  }
}
