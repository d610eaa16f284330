import { percentile } from '../metrics/percentile.ts';
import type { Note, Run } from './report.ts';
import type { Sample } from './sample.ts';
import { quantileInterval } from './stats/quantile-interval.ts';
import { trend } from './stats/trend.ts';

/** What a run itself cannot tell from its samples. */
export interface Seen {
  /** Requests whose drawn length was changed. */
  clamped: number;
  pausedMs: number;
  gaveUp: boolean;
  /** Requests under way when the run was cut short; absent if it ran to its end. */
  cutOff?: number | undefined;
}

/** The notes of several runs as sentences: each kind once, with how many of the runs it was seen in. */
export function noteSentences(runs: readonly Pick<Run, 'notes'>[]): string[] {
  const seen = new Map<Note['code'], { message: string; runs: number; others: Set<string> }>();
  for (const { notes } of runs)
    for (const { code, message } of notes) {
      const found = seen.get(code) ?? { message, runs: 0, others: new Set() };
      found.runs += 1;
      found.others.add(message);
      seen.set(code, found);
    }
  return [...seen.values()].map(({ message, runs: count, others }) =>
    runs.length === 1 || others.size === 1 ? message : `${message} (So, or alike, in ${count} of ${runs.length} runs.)`,
  );
}

type Judged = Pick<Run, 'conditions' | 'figures' | 'requests' | 'samples'>;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** From this on, gaps that grow over the run are told: the last third is slower than the first by 10 %, and chance is out (1 %). */
const DRIFT = { ratio: 1.1, p: 0.01 };

/** What a reader has to know before believing the figures. */
export function notesOf(run: Judged, { clamped, pausedMs, gaveUp, cutOff }: Seen): Note[] {
  const steady = run.samples.filter(({ warmUp, coolDown }) => !warmUp && !coolDown);
  const notes: (Note | undefined)[] = [
    gaveUp
      ? { code: 'gave-up', message: 'The run gave up after ten requests had failed one after another.' }
      : undefined,
    cutOff === undefined ? undefined : cutNote(cutOff),
    run.conditions.adapter?.isFallback
      ? {
          code: 'software-adapter',
          message: 'A software adapter ran the GPU code on the CPU: its times say little about a GPU.',
        }
      : undefined,
    hiddenNote(steady),
    driftNote(steady),
    fewNote(steady),
    uncertainNote(steady),
    lateNote(run),
    clamped > 0
      ? {
          code: 'clamped-lengths',
          message: `${clamped} ${clamped === 1 ? 'request was' : 'requests were'} drawn longer than the context holds, or shorter than the template is, and got the nearest length.`,
        }
      : undefined,
    pausedMs > 0
      ? {
          code: 'paused',
          message: `The run was paused for ${(pausedMs / 1000).toFixed(1)} s; the device could cool down meanwhile.`,
        }
      : undefined,
  ];
  return notes.filter((note) => note !== undefined);
}

/** What was under way is the slow part of it, as a rule. */
function cutNote(cutOff: number): Note {
  const lost = cutOff === 1 ? 'the request' : `the ${cutOff} requests`;
  const left = cutOff === 0 ? '' : `; ${lost} under way then ${cutOff === 1 ? 'is' : 'are'} left out`;
  return {
    code: 'cut-short',
    message: `The run was cancelled before its end, so it holds less than was asked for${left}.`,
  };
}

function hiddenNote(steady: readonly Sample[]): Note | undefined {
  const hidden = steady.filter((sample) => sample.hidden).length;
  if (hidden === 0) return undefined;
  return {
    code: 'hidden-tab',
    message: `${hidden} of ${steady.length} requests ran while the page was hidden, which browsers slow down; they are left out of the percentiles.`,
  };
}

/** Gaps, unlike TTFT, do not grow with a queue: where they rise over a run, the device got slower. */
function driftNote(steady: readonly Sample[]): Note | undefined {
  const inOrder = steady.filter(({ hidden }) => !hidden).sort((a, b) => a.calledMs - b.calledMs);
  const found = trend(inOrder.flatMap(({ itlMs }) => percentile(itlMs, 50) ?? []));
  if (!found || found.ratio < DRIFT.ratio || found.p > DRIFT.p) return undefined;
  return {
    code: 'thermal-drift',
    message: `ITL rose over the run, by ${percent(found.ratio - 1)} from its first to its last third: the device got warm, or something else began to use it.`,
  };
}

function fewNote(steady: readonly Sample[]): Note | undefined {
  const n = steady.filter(({ hidden }) => !hidden).length;
  if (n >= 20) return undefined;
  return {
    code: 'few-samples',
    message: `${n} ${n === 1 ? 'request was' : 'requests were'} measured: p95 and p99 of TTFT are hardly more than the slowest of them; take at least 20, better 100.`,
  };
}

function uncertainNote(steady: readonly Sample[]): Note | undefined {
  const ttfts = steady.flatMap(({ hidden, ttftMs }) => (hidden ? [] : (ttftMs ?? [])));
  const found = quantileInterval(ttfts, 95);
  if (!found || found.value <= 0 || (found.high - found.low) / 2 / found.value <= 0.25) return undefined;
  return {
    code: 'uncertain-p95',
    message: `TTFT p95 lies between ${found.low.toFixed(1)} and ${found.high.toFixed(1)} ms with 95 % confidence; more requests narrow that.`,
  };
}

function lateNote({ figures }: Judged): Note | undefined {
  const late = figures.dispatchDelayMs?.p95;
  const first = figures.ttftMs.p50;
  if (late === undefined || first === undefined || late < 5 || late < 0.05 * first) return undefined;
  return {
    code: 'dispatch-late',
    message: `Requests were sent up to ${late.toFixed(1)} ms late (p95): the page was busy, and TTFT contains that.`,
  };
}
