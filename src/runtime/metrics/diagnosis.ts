import type { StepTrace } from '../../shared/trace.ts';
import { roofline, type Roofline, type StepWork } from './roofline.ts';
import {
  splitStep,
  STEP_SHARES,
  type DiagnosisContext,
  type StepParts,
  type StepShare,
  type StepSplit,
} from './step-split.ts';
import type { RecordedStep } from './trace-log.ts';
import { verdictWords } from './verdict-words.ts';

/** What limits a kind of step; `batch`: what it does for other sequences that share it. */
export type Verdict = StepShare | 'batch';

/** How sure the verdict is: `clear`; `mixed`, followed closely by another; `weak`, with a share smaller than the unexplained rest. */
export type Certainty = 'clear' | 'mixed' | 'weak';

export interface Diagnosis {
  kind: StepTrace['kind'];
  /** Steps that were counted; those of a hidden page are not. */
  n: number;
  /** Steps that were left out because the page was hidden. */
  hiddenSteps: number;
  /** Absent if nothing could be told: no steps, or no part of their time. */
  verdict?: Verdict;
  certainty?: Certainty;
  /** Mean time of a step, ms: for decode, what one token of each sequence waited for. */
  stepMs?: number;
  /** Mean parts of it, ms; together with `unexplainedMs` they are `stepMs`. */
  parts: StepParts;
  unexplainedMs: number;
  /** Mean of it that the device was busy, ms: kernels that do not reach the roof; 0 where the device's time was not measured. */
  belowRoofMs: number;
  /** Mean of it that went by until a result was there, computing or waiting, where the GPU's time was not measured. */
  computeOrWaitMs: number;
  /** Mean of what the step did for other sequences of its batch, ms; within memory or compute. */
  batchMs: number;
  /** Part / whole, from 0 to 1, of every part that is known and of the rest. */
  shares: Partial<Record<StepShare | 'unexplained' | 'batch', number>>;
  /** Mean work of a step. */
  work?: StepWork;
  /** Of the mean step: against the GPU's busy time where all steps have it, else against `stepMs`. */
  roofline: Roofline;
  /** The part after the verdict's, where it matters (`mixed`). */
  runnerUp?: Verdict;
  /** How much faster steps would be without what the advice takes away: 1.7 is 1.7 x. Absent without a verdict. */
  speedUp?: number;
  /** For engineers: the verdict with its numbers. */
  finding: string;
  /** For engineers: one thing to do. */
  advice: string;
  /** For everybody. */
  plain: string;
  /** What makes the numbers less sure, in sentences: estimated bytes, no GPU times, no probe. */
  caveats: readonly string[];
}

/**
 * Says what limits the steps of one kind, and what to do about it.
 *
 * @param recorded of one engine (`TraceLog.latestSteps`); those of the other kind are ignored
 */
export function diagnose(
  recorded: readonly RecordedStep[],
  kind: StepTrace['kind'],
  context: DiagnosisContext,
): Diagnosis {
  const ofKind = recorded.filter(({ step }) => step.kind === kind);
  const visible = ofKind.filter(({ hidden }) => !hidden);
  const splits = visible.map(({ step, window }) => splitStep(step, window, context));
  const mean = meanSplit(splits);
  const gpuMs = meanOf(visible.map(({ step }) => (context.device === 'gpu' ? step.timing.gpuMs : undefined)));
  const batch = meanOf(visible.map(({ step }) => step.batch)) ?? 1;
  const head = { kind, n: visible.length, hiddenSteps: ofKind.length - visible.length };
  const caveats = caveatsOf(visible, mean, context);
  if (!mean || mean.totalMs <= 0) {
    const zero = { unexplainedMs: 0, belowRoofMs: 0, computeOrWaitMs: 0, batchMs: 0 };
    const none = { ...head, ...zero, parts: {}, shares: {}, roofline: {}, caveats };
    return { ...none, ...verdictWords({ ...none, batch }, context) };
  }
  const { totalMs: stepMs, parts, unexplainedMs, belowRoofMs, computeOrWaitMs, batchMs, work } = mean;
  const under = roofline(work, context.peaks, gpuMs ?? stepMs);
  const judged = judge(mean, Math.min(under.memoryMs ?? 0, under.computeMs ?? 0));
  const facts = {
    ...head,
    ...judged,
    stepMs,
    parts,
    unexplainedMs,
    belowRoofMs,
    computeOrWaitMs,
    batchMs,
    shares: sharesOf(mean),
    work,
    roofline: under,
    caveats,
  };
  return { ...facts, ...verdictWords({ ...facts, batch }, context) };
}

type MeanSplit = Omit<StepSplit, 'roofline'>;

/** Times add up, so they are averaged; a part counts only if every step has it. */
function meanSplit(splits: readonly StepSplit[]): MeanSplit | undefined {
  if (splits.length === 0) return undefined;
  const mean = (of: (split: StepSplit) => number): number =>
    splits.reduce((sum, split) => sum + of(split), 0) / splits.length;
  const parts: StepParts = {};
  let lostMs = 0;
  for (const share of STEP_SHARES) {
    const name = `${share}Ms` as const;
    const partMs = mean((split) => split.parts[name] ?? 0);
    if (splits.every((split) => split.parts[name] !== undefined)) parts[name] = partMs;
    else lostMs += partMs;
  }
  const bytes = meanOf(splits.map(({ work }) => work.bytes));
  const flop = meanOf(splits.map(({ work }) => work.flop));
  return {
    totalMs: mean(({ totalMs }) => totalMs),
    parts,
    unexplainedMs: mean((split) => split.unexplainedMs) + lostMs,
    belowRoofMs: mean((split) => split.belowRoofMs),
    computeOrWaitMs: mean((split) => split.computeOrWaitMs),
    batchMs: mean((split) => split.batchMs),
    work: {
      ...(bytes !== undefined && { bytes }),
      ...(flop !== undefined && { flop }),
      bytesAreEstimated: splits.some(({ work }) => work.bytesAreEstimated),
      flopAreEstimated: splits.some(({ work }) => work.flopAreEstimated),
    },
    fasterThanRoof: splits.filter((split) => split.fasterThanRoof).length * 2 > splits.length,
  };
}

/** The mean; absent if a value is. */
function meanOf(values: readonly (number | undefined)[]): number | undefined {
  let sum = 0;
  for (const value of values) {
    if (value === undefined) return undefined;
    sum += value;
  }
  return values.length === 0 ? undefined : sum / values.length;
}

/** A verdict's part, and what it counts when verdicts are compared. */
type Named = { verdict: Verdict; ms: number; weight: number };

/**
 * The largest named part, with the work for others in the batch taken out of memory or compute as a part of its own. Time in which the device
 * computed below the roof has no name, but counts for what was computed: for the floor and the dispatches as they are to each other.
 *
 * @param hiddenMs the lower of the two limits of the roofline, which shows when the higher one is taken away
 */
function judge(mean: MeanSplit, hiddenMs: number): Pick<Diagnosis, 'verdict' | 'certainty' | 'runnerUp' | 'speedUp'> {
  const { parts, batchMs, unexplainedMs, totalMs } = mean;
  const floor = floorShare(parts);
  const floorMs = parts[`${floor}Ms`] ?? 0;
  const dispatchMs = parts.dispatchMs ?? 0;
  const deviceMs = floorMs + dispatchMs;
  const kernelsMs = mean.belowRoofMs + Math.min(mean.computeOrWaitMs, deviceMs * CREDIBLE_SLACK);
  const forDevice = (ms: number): number => (deviceMs > 0 ? (kernelsMs * ms) / deviceMs : 0);
  const named = STEP_SHARES.flatMap((verdict): Named[] => {
    const partMs = parts[`${verdict}Ms`];
    const ms = verdict === floor ? floorMs - batchMs : (partMs ?? 0);
    if (verdict === 'readback') return [{ verdict, ms, weight: ms + Math.max(0, mean.computeOrWaitMs - kernelsMs) }];
    if (partMs === undefined) return [];
    return [{ verdict, ms, weight: verdict === floor || verdict === 'dispatch' ? ms + forDevice(ms) : ms }];
  });
  named.push({ verdict: 'batch', ms: batchMs, weight: batchMs + forDevice(batchMs) });
  named.sort((a, b) => b.weight - a.weight);
  const [first, second] = named;
  // Where nothing is known of the device's work, small parts around it are no verdict on it.
  const isBlind = deviceMs === 0 && unexplainedMs > 0.5 * totalMs && mean.computeOrWaitMs < 0.5 * totalMs;
  if (!first || first.weight <= 0 || isBlind) return {};
  const { verdict, ms } = first;
  const isWeak = unexplainedMs > ms;
  const isClose = !isWeak && second !== undefined && second.ms > 0.6 * ms;
  const saved = isWeak && mean.belowRoofMs > 0 ? mean.belowRoofMs : savedMs(verdict, ms, hiddenMs);
  return {
    verdict,
    certainty: isWeak ? 'weak' : isClose ? 'mixed' : 'clear',
    ...(isClose && { runnerUp: second.verdict }),
    speedUp: totalMs / Math.max(totalMs - saved, totalMs / 1000),
  };
}

/**
 * Where the GPU's time was not measured, kernels are believed to take up to five times their floor (20 % of the roof); what is beyond that
 * counts as waiting.
 */
const CREDIBLE_SLACK = 4;

const floorShare = ({ memoryMs = 0, computeMs = 0 }: StepParts): StepShare =>
  memoryMs >= computeMs ? 'memory' : 'compute';

/** What the advice of each verdict takes away: half the bytes, FLOP or dispatches; all of the wait for others. */
function savedMs(verdict: Verdict, ms: number, hiddenMs: number): number {
  if (verdict === 'dispatch') return ms / 2;
  const isFloor = verdict === 'memory' || verdict === 'compute';
  return isFloor ? Math.min(ms / 2, Math.max(0, ms - hiddenMs)) : ms;
}

function sharesOf({ totalMs, parts, unexplainedMs, batchMs }: MeanSplit): Diagnosis['shares'] {
  const shares: Diagnosis['shares'] = {};
  for (const share of STEP_SHARES) {
    const ms = parts[`${share}Ms`];
    if (ms !== undefined) shares[share] = ms / totalMs;
  }
  return { ...shares, unexplained: unexplainedMs / totalMs, batch: batchMs / totalMs };
}

function caveatsOf(
  recorded: readonly RecordedStep[],
  mean: MeanSplit | undefined,
  { device, peaks }: DiagnosisContext,
): string[] {
  if (recorded.length === 0 || !mean) return [];
  const caveats: string[] = [];
  const lacks = (missing: boolean, sentence: string): void => {
    if (missing) caveats.push(sentence);
  };
  const { work } = mean;
  lacks(peaks.bytesPerSecond === undefined, 'The memory bandwidth of this device was not measured.');
  lacks(peaks.flopPerSecond === undefined, 'The arithmetic rate of this device was not measured.');
  lacks(work.bytes === undefined, 'The engine does not count the bytes it reads.');
  lacks(work.bytesAreEstimated, 'Bytes are estimated from the size of the model: the engine does not count them.');
  if (device === 'gpu') {
    const timed = recorded.every(({ step }) => step.timing.gpuMs !== undefined);
    lacks(!timed, 'The GPU gives no usable timestamps: waiting for a result cannot be told from computing it.');
    const counted = recorded.every(({ step }) => step.dispatches !== undefined);
    lacks(!counted, 'The engine does not count its dispatches.');
    lacks(counted && peaks.dispatchMs === undefined, 'The cost of a dispatch on this device was not measured.');
  }
  const drafts = recorded.some(({ step }) => step.drafted !== undefined);
  lacks(drafts, 'Tokens are drafted between the steps: that time, also of a draft model, counts as host.');
  lacks(
    mean.fasterThanRoof,
    'Steps are faster than the measured peaks allow: the weights fit in a cache, or the probe was disturbed.',
  );
  return caveats;
}
