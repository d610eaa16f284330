import type { SpeculationOptions } from './create-speculator.ts';

/** @throws RangeError for an option that there is not */
export function checkSpeculation(option: unknown): void {
  if (option === undefined || option === 'off' || option === 'prompt-lookup') return;
  if (typeof option !== 'object' || option === null)
    throw new RangeError(
      `Cannot create an engine: speculation is ${JSON.stringify(option)}; use off, prompt-lookup or an object`,
    );
  const { maxDraftTokens } = option as SpeculationOptions;
  if (maxDraftTokens !== undefined && !(Number.isInteger(maxDraftTokens) && maxDraftTokens >= 1))
    throw new RangeError(`Cannot create an engine: maxDraftTokens is ${maxDraftTokens}; give a whole number above 0`);
}
