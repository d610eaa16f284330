import type { BackendInfo, SequenceId, StepRow } from './backend.ts';
import { checkMask } from './check-mask.ts';
import type { Sequence, Sequences } from './kv/sequences.ts';
import type { StateStep } from './webgpu/states.ts';

/** A row of a step that may be run. */
export interface CheckedRow {
  row: StepRow;
  /** Which row it is of those given. */
  index: number;
  sequence: Sequence;
  /** Tokens that it appends. */
  count: number;
  /** Where its state comes from and goes to, and tokens that are run again before these; absent without such state. */
  state?: StateStep;
}

/**
 * Checks the rows of a step and finds their sequences; changes nothing.
 * @throws RangeError for rows that go against the contract of `Backend.step` or the capabilities
 */
export function checkRows(
  rows: readonly StepRow[],
  sequences: Pick<Sequences, 'get'>,
  { model, capabilities }: BackendInfo,
): CheckedRow[] {
  const { maxBatch, maxStepTokens, maxVerifyTokens } = capabilities;
  if (rows.length === 0 || rows.length > maxBatch) {
    throw new RangeError(`Cannot run a step of ${rows.length} rows: give 1 to ${maxBatch}`);
  }
  const seen = new Set<SequenceId>();
  const checked = rows.map((row, index) => {
    const sequence = sequences.get(row.sequence);
    if (seen.has(row.sequence)) throw new RangeError(`Cannot run a step: sequence ${row.sequence} has two rows`);
    seen.add(row.sequence);
    checkInput(row, sequence, model.vocabSize);
    return { row, index, sequence, count: row.input === 'previous' ? 1 : row.input.length };
  });
  const tokens = checked.reduce((sum, { count }) => sum + count, 0);
  if (tokens > maxStepTokens) {
    throw new RangeError(`Cannot run a step of ${tokens} tokens: give at most ${maxStepTokens}`);
  }
  checkSamples(checked, maxVerifyTokens);
  return checked;
}

function checkInput({ input, sample, isPrompt, mask }: StepRow, { id, hasSampled }: Sequence, vocabSize: number): void {
  if (input === 'previous') {
    if (!hasSampled) throw new RangeError(`Cannot continue sequence ${id}: it has sampled no token yet`);
  } else {
    if (input.length === 0) throw new RangeError(`Cannot run a step: sequence ${id} has no input`);
    checkIds(input, vocabSize);
  }
  checkMask(mask, vocabSize);
  if (sample === 'each' && (input === 'previous' || isPrompt || mask)) {
    throw new RangeError(`Cannot sample each token of sequence ${id}: give ids that are no prompt, and no mask`);
  }
}

function checkIds(ids: readonly number[], vocabSize: number): void {
  for (const id of ids) {
    if (!(Number.isInteger(id) && id >= 0 && id < vocabSize)) {
      throw new RangeError(`Cannot take token ${id}: ids are whole numbers below ${vocabSize}`);
    }
  }
}

/** Without `'each'` there is one sample a row at most, and `maxBatch` is the limit. */
function checkSamples(rows: readonly CheckedRow[], maxVerifyTokens: number): void {
  if (rows.every(({ row }) => row.sample !== 'each')) return;
  const samples = rows.reduce((sum, { row, count }) => sum + (row.sample === 'each' ? count : row.sample ? 1 : 0), 0);
  if (samples > maxVerifyTokens) {
    throw new RangeError(`Cannot sample ${samples} tokens in a step: give at most ${maxVerifyTokens}`);
  }
}
