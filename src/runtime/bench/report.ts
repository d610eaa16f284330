import type { GpuCallCounts } from './gpu-calls.ts';
import type { Summary } from '../metrics/summary.ts';
import type { Environment } from './environment.ts';
import type { Sample } from './sample.ts';

/** A length in tokens as it was drawn for each request. */
export interface LengthDistribution {
  kind: 'fixed';
  tokens: number;
}

/** What was asked of one engine; with the environment, everything needed to repeat the run. */
export interface Conditions {
  model: {
    id: string;
    architecture: string;
    quantization: string;
    parameters: number;
    weightBytes: number;
    kvBytesPerToken: number;
  };
  engine: { name: string; version: string; reason: string; worker: boolean; threads?: number };
  /** Absent when no GPU computes. */
  adapter?: {
    vendor: string;
    architecture: string;
    description: string;
    isFallback: boolean;
    features: readonly string[];
  };
  /** Sequences per step. */
  batch: number;
  promptLength: LengthDistribution;
  outputLength: LengthDistribution;
  arrivals: { process: 'closed-loop'; users: number; thinkTimeMs: number };
  concurrency: number;
  warmUpRequests: number;
  /** Absent for greedy decoding. */
  seed?: number;
  temperature: number;
  chatTemplate: boolean;
  slo: Slo;
  prefixCache: { enabled: boolean };
  speculative: { enabled: boolean };
}

/** Limits that a request must all meet (inclusive) to count as good. */
export interface Slo {
  name: string;
  ttftMs?: number;
  tpotMs?: number;
}

/** Figures of one engine over all measured requests. Every distribution carries its n; what was not measured is absent. */
export interface Figures {
  ttftMs?: Summary;
  itlMs?: Summary;
  tpotMs?: Summary;
  e2eMs?: Summary;
  /** Computed prompt tokens per second of prefill, per request. */
  prefillTokensPerSecond?: Summary;
  /** 1000 / TPOT, per request: what one user gets. */
  userTokensPerSecond?: Summary;
  /** All output tokens / duration: what the machine yields. */
  systemTokensPerSecond?: number;
  /** Most output tokens within any one second of the run. */
  peakSystemTokensPerSecond?: number;
  goodput: { requestsPerSecond: number; tokensPerSecond: number; share: number };
  /** Cached prompt tokens / prompt tokens. */
  prefixCacheHitRate: number;
  /** Accepted / proposed draft tokens; absent without speculation. */
  draftAcceptance?: number;
}

/** One engine under one set of conditions. */
export interface Run {
  conditions: Conditions;
  durationMs: number;
  requests: { completed: number; failed: number };
  failures: readonly { index: number; code: string; message: string }[];
  figures: Figures;
  /** WebGPU calls per decoded token at steady state; absent unless counted. */
  gpuCallsPerToken?: GpuCallCounts;
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

export interface Report {
  format: 'tokenglass.report/1';
  tokenglass: string;
  createdAt: string;
  environment: Environment;
  /** The command line or page address that repeats this. */
  command?: string;
  runs: readonly Run[];
  /** Absent for one run. */
  ratios?: readonly Ratio[];
  /** Flat names to numbers: what a script compares. */
  figures: Readonly<Record<string, number>>;
}
