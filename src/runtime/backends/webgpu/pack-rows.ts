import type { CheckedRow } from '../check-rows.ts';
import { KV_BLOCK } from '../../blocks/attention/webgpu/attention.ts';
import type { SampleRow } from './kernels/sample/layout.ts';
import type { SampleKernels } from './kernels/sample/sample-kernels.ts';
import type { StepShape } from './plan/gpu-block.ts';
import type { StepWriter } from './step-layout.ts';

export interface PackParts {
  writer: StepWriter;
  sampler: Pick<SampleKernels, 'appendTokens' | 'writeMask' | 'variantOf'>;
  /** Rows of an attention tile. */
  tileRows: number;
  /** Tokens of context from which on attention is split. */
  splitTokens: number;
  maxSplits: number;
}

export interface PackedStep {
  shape: StepShape;
  /** Index of each row's record, the first one of a row with several; undefined where nothing is sampled. */
  records: readonly (number | undefined)[];
  /** Token of each row, where the host knows it. */
  tokens: readonly number[];
  /** Tokens that each token row attends to. */
  contexts: readonly number[];
}

/**
 * Packs the rows of a step, for which KV is reserved, into the step buffer: token rows, attention tiles and samples. Their sequences are
 * longer from here on, so the step has to be submitted next.
 */
export function packRows(rows: readonly CheckedRow[], parts: PackParts): PackedStep {
  const { writer, sampler, tileRows } = parts;
  const contexts: number[] = [];
  const tokens: number[] = [];
  const samples: SampleRow[] = [];
  const records: (number | undefined)[] = rows.map(() => undefined);
  // Sequences with one token each come first: their attention is that of a decode step, whatever else is in the step.
  const isSingle = (row: CheckedRow): boolean => rowsOf(row) === 1;
  const singles = rows.filter(isSingle);
  let tiles = 0;
  let at = 0;
  let runs = 0;
  for (const checked of [...singles, ...rows.filter((row) => !isSingle(row))]) {
    const { row, index, sequence, count, state } = checked;
    const { input } = row;
    const { slot, length: start } = sequence;
    const total = rowsOf(checked);
    const first = start + count - total;
    for (let i = 0; i < total; i++) {
      const position = first + i;
      const token = position < start ? 'again' : input === 'previous' ? 'previous' : input[position - start]!;
      writer.setRow(at + i, { token, position, slot });
      contexts.push(position + 1);
      tokens.push(typeof token === 'number' ? token : (sequence.lastToken ?? 0));
    }
    for (let i = 0; total > 1 && i < total; i += tileRows)
      writer.setTile(tiles++, at + i, Math.min(tileRows, total - i));
    if (state) {
      const { source, target } = state;
      writer.setRun(runs++, { firstRow: at, rows: total, position: first, slot, source, target });
    }
    at += total;
    sequence.length += count;
    if (isUploaded(checked) && input !== 'previous') sampler.appendTokens(slot, start, input, row.isPrompt);
    const own = samplesOf(checked, start);
    // Before the step's submit, and no earlier step of the sequence is in flight that would see it.
    if (row.mask && own.length > 0) sampler.writeMask(slot, row.mask);
    if (row.sample) records[index] = samples.length;
    for (const [i, sample] of own.entries()) {
      writer.setSample(samples.length, at - own.length + i, sample);
      samples.push(sample);
    }
    sequence.hasSampled ||= row.sample !== false;
  }
  const { tokensPerSplit, splits } = splitContext(Math.max(1, ...contexts.slice(0, singles.length)), parts);
  writer.setHeader(at, tokensPerSplit, splits, singles.length);
  const shape: StepShape = {
    rows: at,
    singles: singles.length,
    splits,
    tiles,
    runs,
    samples: samples.length,
    variant: sampler.variantOf(samples),
  };
  return { shape, records, tokens, contexts };
}

/** Token rows: those run again, and the new ones. */
const rowsOf = ({ count, state }: CheckedRow): number => count + (state?.replay ?? 0);

/** Its tokens are counted for penalties by an upload of their own, not by its samples. */
const isUploaded = ({ row, count }: CheckedRow): boolean => row.sample !== 'each' && (row.isPrompt || count > 1);

/** What is sampled after the row's last tokens, in their order. @param start length of the sequence before the row */
function samplesOf(checked: CheckedRow, start: number): SampleRow[] {
  const { row, sequence, count } = checked;
  const { input, sample, mask } = row;
  const { slot } = sequence;
  if (sample === 'each' && input !== 'previous') {
    return input.map((append, depth) => {
      const followed = depth + 1 < count;
      return { slot, position: start + depth + 1, sample: true, append, depth, followed };
    });
  }
  const append = isUploaded(checked) ? undefined : input === 'previous' ? input : input[0]!;
  // A row that only appends an output token has to be counted for penalties, and is laid out as a sample that is dropped.
  if (!sample && append === undefined) return [];
  return [
    {
      slot,
      position: start + count,
      sample: sample !== false,
      ...(append !== undefined && { append }),
      masked: mask !== undefined,
    },
  ];
}

/** @param longest context of the rows that attend one by one */
function splitContext(
  longest: number,
  { splitTokens, maxSplits }: PackParts,
): { tokensPerSplit: number; splits: number } {
  const isSplit = longest > splitTokens;
  const part = splitTokens / 2;
  const tokens = isSplit ? Math.max(part, Math.ceil(longest / maxSplits / part) * part) : longest;
  // Splits begin at a block of 32 that the window begins in, so one more may be needed than the context has.
  const tokensPerSplit = Math.ceil(tokens / KV_BLOCK) * KV_BLOCK;
  return { tokensPerSplit, splits: isSplit ? Math.ceil(longest / tokensPerSplit) : 1 };
}
