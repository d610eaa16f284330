import { checkArrivals, type Arrivals } from './arrivals.ts';
import { checkLengths, type LengthDistribution } from './lengths.ts';
import { checkSlo, type Slo } from '../slo.ts';
import type { TraceEntry } from './trace-file.ts';

/** When a run ends: at the first of these that comes true; at least one is given (a replay ends with its trace). */
export interface StopRule {
  /** Measured requests. */
  requests?: number;
  /** Of the measured part, ms. */
  durationMs?: number;
  /**
   * Half the width of the 95 % confidence interval of TTFT p95, as a share of it: 0.1 ends the run once p95 is known to 10 %. Looked at
   * after each request; there is no interval before 72.
   */
  p95Within?: number;
}

/** What to run on each engine. Plain data: with an engine it says everything. */
export interface Workload {
  /** Name of the preset it came from. @default 'custom' */
  name?: string;
  /** Prompt tokens of each request (of each turn, what it adds), template included; ignored when `promptText` is given. */
  promptLength: LengthDistribution;
  /** A prompt of the caller's instead of one of exact length. */
  promptText?: string;
  /** Share of each prompt (0 to 1) that all prompts begin with: what a prefix cache can save. */
  sharedPrefixShare: number;
  /** Requests of a conversation; each turn but the first sends what was said before, and the answer. */
  turns: number;
  /** Output tokens of each request; generation goes on past end tokens to reach it, unless `promptText` is given. */
  outputLength: LengthDistribution;
  arrivals: Arrivals;
  /** Requests of a replay; needed for it, and its lengths are used instead of the distributions. */
  trace?: readonly TraceEntry[];
  stop: StopRule;
  /** Requests before the measured ones, which are left out. */
  warmUpRequests: number;
  /** Load that goes on after the measured part, so that its last requests meet what its first ones met; left out. ms */
  coolDownMs: number;
  /** Leave the prefix cache as the warm-up left it. */
  keepCache: boolean;
  temperature: number;
  seed: number;
  /** Leave out the chat template. */
  raw: boolean;
  slo: Slo;
}

/** @throws RangeError in words for a workload that cannot be run */
export function checkWorkload(workload: Workload): void {
  const { arrivals, stop, trace, turns, sharedPrefixShare, promptText, warmUpRequests } = workload;
  checkLengths(workload.promptLength, 'prompt');
  checkLengths(workload.outputLength, 'output');
  checkArrivals(arrivals);
  checkSlo(workload.slo);
  const refuse = (why: string): never => {
    throw new RangeError(`Cannot run: ${why}`);
  };
  if (arrivals.process === 'trace' && !trace?.length) refuse('a replay needs a trace; give one');
  if (!stop.requests && !stop.durationMs && !stop.p95Within && arrivals.process !== 'trace')
    refuse('nothing says when to stop; give a number of requests, a duration or a precision');
  const isOpen = arrivals.process !== 'closed-loop' && arrivals.process !== 'trace';
  if (isOpen && !stop.requests && !stop.durationMs)
    refuse('arrivals of an open loop are planned ahead; give a number of requests or a duration');
  if (!(sharedPrefixShare >= 0 && sharedPrefixShare <= 1)) refuse('the shared prefix is not between 0 and 100 %');
  if (!(Number.isInteger(turns) && turns >= 1)) refuse(`a conversation of ${turns} turns is none; give at least 1`);
  if (!(Number.isInteger(warmUpRequests) && warmUpRequests >= 0))
    refuse(`${warmUpRequests} warm-up requests cannot be sent`);
  if (promptText !== undefined && turns > 1) refuse('a prompt of your own has one turn; leave out one of the two');
}

/** True for load that is one user without a pause: engines can then take turns, request by request. */
export const isOneUser = ({ arrivals }: Workload): boolean =>
  arrivals.process === 'closed-loop' && arrivals.users === 1;
