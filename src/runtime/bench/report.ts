import type { SchedulingPolicy } from '../../shared/info.ts';
import type { GpuCallCounts } from './gpu-calls.ts';
import type { Summary } from '../metrics/summary.ts';
import type { Environment } from './environment.ts';
import type { Arrivals } from './load/arrivals.ts';
import type { LengthDistribution } from './load/lengths.ts';
import type { StopRule } from './load/workload.ts';
import type { Sample } from './sample.ts';
import type { Slo, SloLimit } from './slo.ts';

/** What was asked of one engine; with the environment, everything needed to repeat the run. */
export interface Conditions {
  model: {
    id: string;
    architecture: string;
    quantization: string;
    parameters: number;
    weightBytes: number;
    kvBytesPerToken: number;
    /** Those of the above that the engine has no way to know (a server does not tell its weights); numbers are 0 then. Absent: all are known. */
    unknown?: readonly string[];
  };
  engine: {
    name: string;
    version: string;
    reason: string;
    worker: boolean;
    threads?: number;
    /** How it shares its steps between requests; absent for one whose requests are scheduled elsewhere. */
    policy?: SchedulingPolicy;
  };
  /** Absent when no GPU computes. */
  adapter?: {
    vendor: string;
    architecture: string;
    description: string;
    isFallback: boolean;
    features: readonly string[];
  };
  /** Most sequences per step: what the engine takes, and the workload gives. */
  batch: number;
  /** Name of the preset; `custom` for none. */
  workload: string;
  promptLength: LengthDistribution;
  outputLength: LengthDistribution;
  /** Share of each prompt, 0 to 1, that all prompts begin with. */
  sharedPrefixShare: number;
  /** Requests of a conversation. */
  turns: number;
  arrivals: Arrivals;
  stop: StopRule;
  /** Users of a closed loop; most requests under way at once, those that waited included, of an open one. */
  concurrency: number;
  warmUpRequests: number;
  coolDownMs: number;
  seed: number;
  temperature: number;
  chatTemplate: boolean;
  slo: Slo;
  /** `flushed`: emptied after the warm-up; absent where there is none. */
  prefixCache: { enabled: boolean; flushed?: boolean };
  /** `method`: where drafts come from; absent where there are none. */
  speculative: { enabled: boolean; method?: string };
}

/** Good: within every limit of the SLO. Rates are per second of the run. */
export interface Goodput {
  requestsPerSecond: number;
  tokensPerSecond: number;
  /** Good requests / requests, failed ones included. */
  share: number;
  /** Requests that met this limit / requests, failed ones included; of each limit that the SLO has. */
  shares: Partial<Record<SloLimit, number>>;
}

/** Figures of one engine over all measured requests. Every distribution carries its n; what was not measured is absent. */
export interface Figures {
  ttftMs: Summary;
  /** All gaps of all requests. */
  itlMs: Summary;
  tpotMs?: Summary;
  e2eMs?: Summary;
  /** Computed prompt tokens per second of prefill, per request. */
  prefillTokensPerSecond?: Summary;
  /** 1000 / TPOT, per request: what one user gets. */
  userTokensPerSecond?: Summary;
  /** Lateness of the load generator; absent for closed loop. */
  dispatchDelayMs?: Summary;
  /** From the time a request was due until the engine took it up. */
  queueMs?: Summary;
  /** All output tokens / duration: what the machine yields. */
  systemTokensPerSecond?: number;
  /** Most output tokens in any window of `peakWindowMs`, per second. */
  peakSystemTokensPerSecond?: number;
  /** One second; the whole run where that is shorter. */
  peakWindowMs?: number;
  goodput: Goodput;
  /** Cached prompt tokens / prompt tokens. */
  prefixCacheHitRate: number;
  /** Accepted / drafted tokens; absent where nothing was drafted. */
  draftAcceptance?: number;
}

/** Something that a reader has to know before believing a figure. */
export interface Note {
  code:
    | 'at-once'
    | 'clamped-lengths'
    | 'coarse-timer'
    | 'dispatch-late'
    | 'few-samples'
    | 'gave-up'
    | 'cut-short'
    | 'hidden-tab'
    | 'noisy-machine'
    | 'no-wake-lock'
    | 'one-after-another'
    | 'paused'
    | 'pressure'
    | 'software-adapter'
    | 'thermal-drift'
    | 'uncertain-p95';
  /** A sentence. */
  message: string;
}

/** One engine under one set of conditions. */
export interface Run {
  conditions: Conditions;
  /**
   * Of the measured part, ms: from its start to its planned end, or to the last measured answer where that came later and no cool-down
   * followed. Pauses are left out; with engines in turns, the turns of the others as well.
   */
  durationMs: number;
  /** When the measured part began, on the axis of the samples. */
  steadyFromMs: number;
  requests: { completed: number; failed: number };
  failures: readonly { index: number; code: string; message: string }[];
  figures: Figures;
  /** WebGPU calls per decoded token at steady state; absent unless counted. */
  gpuCallsPerToken?: GpuCallCounts;
  notes: readonly Note[];
  samples: readonly Sample[];
}

/** Run against the first run of the report, by pairs of samples taken next to each other. */
export interface Ratio {
  of: string;
  to: string;
  figure: 'ttftMs' | 'tpotMs' | 'prefillTokensPerSecond';
  /** Median over the pairs, with the number of pairs. */
  median: number;
  n: number;
}

/** Runs of one engine under growing load: the curve of latency against throughput. */
export interface Sweep {
  engine: string;
  /** What grew. */
  over: 'users' | 'rate';
  /** Each with the place of its run in `runs`. */
  points: readonly { value: number; run: number }[];
  /** The value with the most throughput per latency (Kleinrock's power: machine tok/s / E2E p95). */
  knee?: number;
}

/** The highest arrival rate that keeps the SLO. */
export interface CapacitySearch {
  engine: string;
  slo: Slo;
  /** Share of requests that has to meet the SLO. */
  neededShare: number;
  /** Width of the last bracket / its upper end, at the most. */
  tolerance: number;
  /** Highest rate that kept it; absent if none did. */
  ratePerSecond?: number;
  /** Lowest rate that did not; absent if none was found. */
  failedRatePerSecond?: number;
  probes: readonly { ratePerSecond: number; share: number; kept: boolean; run: number }[];
}

export const REPORT_FORMAT = 'tokenglass.report/1';

export interface Report {
  format: typeof REPORT_FORMAT;
  tokenglass: string;
  createdAt: string;
  environment: Environment;
  /** The command line or page address that repeats this. */
  command?: string;
  runs: readonly Run[];
  /** Absent for one run, and for engines that did not take turns. */
  ratios?: readonly Ratio[];
  sweeps?: readonly Sweep[];
  searches?: readonly CapacitySearch[];
  /** Flat names to numbers: what a script compares. */
  figures: Readonly<Record<string, number>>;
}
