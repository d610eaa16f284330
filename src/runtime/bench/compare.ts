import type { Environment } from './environment.ts';
import { describeArrivals } from './load/arrivals.ts';
import { describeLengths } from './load/lengths.ts';
import type { Conditions, Report, Run } from './report.ts';
import type { Sample } from './sample.ts';
import { describeSlo } from './slo.ts';
import { compareMedians, type MedianComparison } from './stats/median-interval.ts';

/** A figure of two runs: medians with 95 % intervals, and their ratio. */
export interface ComparedFigure extends MedianComparison {
  name: string;
  unit: string;
  lessIsBetter: boolean;
  /** Requests of each that had the figure. */
  n: readonly [a: number, b: number];
  /** The interval of the ratio leaves out 1, and there are enough requests to say so. */
  isBeyondNoise: boolean;
  /** A sentence. */
  verdict: string;
}

export interface Difference {
  name: string;
  a: string;
  b: string;
}

export interface Comparison {
  /** Why these are not to be compared; then there are no figures unless they were insisted on. */
  refused?: string;
  /** What a reader has to know before taking the ratios for anything. */
  warnings: readonly string[];
  /** What was declared differently. */
  differences: readonly Difference[];
  figures: readonly ComparedFigure[];
  /** The machine's rates: one number per run, of which no interval can be given. */
  machine: readonly { name: string; unit: string; a: number; b: number; ratio: number }[];
}

/** A run with the report that it is of. */
export interface ComparedRun {
  report: Pick<Report, 'environment' | 'tokenglass'>;
  run: Run;
}

type Declared = (conditions: Conditions, environment: Environment, tokenglass: string) => string;

/** What makes two runs two different questions: their answers cannot be compared. */
const SAME_QUESTION: readonly (readonly [name: string, declared: (conditions: Conditions) => string])[] = [
  ['prompt length', ({ promptLength }) => describeLengths(promptLength)],
  ['output length', ({ outputLength }) => describeLengths(outputLength)],
  ['shared prefix', ({ sharedPrefixShare }) => `${Math.round(sharedPrefixShare * 100)} %`],
  ['turns', ({ turns }) => String(turns)],
  ['arrivals', ({ arrivals }) => describeArrivals(arrivals)],
  ['chat template', ({ chatTemplate }) => (chatTemplate ? 'yes' : 'no')],
];

/** What one may want to compare; of these, one at a time. */
const SUBJECTS: readonly (readonly [name: string, declared: Declared])[] = [
  ['engine', ({ engine }) => `${engine.name} ${engine.version}${engine.threads ? `, ${engine.threads} threads` : ''}`],
  ['model', ({ model }) => `${model.id} ${model.quantization}`],
  [
    'adapter',
    ({ adapter }) => (adapter ? [adapter.vendor, adapter.architecture, adapter.description].join(' ') : 'none'),
  ],
  ['browser', (_, { browser }) => browser],
  ['operating system', (_, { os }) => os],
  ['tokenglass', (_conditions, _environment, tokenglass) => tokenglass],
  ['batch', ({ batch }) => String(batch)],
  ['prefix cache', ({ prefixCache }) => (prefixCache.enabled ? 'on' : 'off')],
  ['speculative', ({ speculative }) => (speculative.enabled ? 'on' : 'off')],
];

/** What may move the figures a little, or some of them. */
const DETAILS: typeof SUBJECTS = [
  ['warm-up requests', ({ warmUpRequests }) => String(warmUpRequests)],
  ['seed', ({ seed }) => String(seed)],
  ['temperature', ({ temperature }) => String(temperature)],
  ['SLO', ({ slo }) => describeSlo(slo)],
  ['policy', ({ engine }) => engine.policy ?? 'none'],
  ['worker', ({ engine }) => (engine.worker ? 'yes' : 'no')],
];

const FIGURES: readonly {
  name: string;
  unit: string;
  lessIsBetter: boolean;
  of: (sample: Sample) => readonly number[];
}[] = [
  { name: 'TTFT', unit: 'ms', lessIsBetter: true, of: ({ ttftMs }) => (ttftMs === undefined ? [] : [ttftMs]) },
  { name: 'ITL', unit: 'ms', lessIsBetter: true, of: ({ itlMs }) => itlMs },
  { name: 'TPOT', unit: 'ms', lessIsBetter: true, of: ({ tpotMs }) => (tpotMs === undefined ? [] : [tpotMs]) },
  { name: 'E2E', unit: 'ms', lessIsBetter: true, of: ({ e2eMs }) => (e2eMs === undefined ? [] : [e2eMs]) },
  {
    name: 'prefill',
    unit: 'tok/s',
    lessIsBetter: false,
    of: ({ prefillTokensPerSecond: rate }) => (rate === undefined ? [] : [rate]),
  },
];

/** Below this many requests of either run nothing is said to be beyond noise. */
export const LEAST_REQUESTS = 5;

/**
 * Compares two runs, figure by figure. Refuses if they were asked different questions (lengths, arrivals), and says in words what else
 * differs.
 * @param insist compare all the same; the refusal is then the first warning. @default false
 */
export function compareRuns(a: ComparedRun, b: ComparedRun, { insist = false } = {}): Comparison {
  const differ = (declarations: typeof SUBJECTS): Difference[] =>
    declarations.flatMap(([name, declared]) => {
      const [inA, inB] = [a, b].map(({ run, report }) =>
        declared(run.conditions, report.environment, report.tokenglass),
      );
      return inA === inB ? [] : [{ name, a: inA!, b: inB! }];
    });
  const questions = askedDifferently(a.run.conditions, b.run.conditions);
  const [subjects, details] = [differ(SUBJECTS), differ(DETAILS)];
  const refused = questions.length
    ? `Cannot compare: the runs were not asked the same. ${inWords(questions)} Run both under one workload.`
    : undefined;
  const warnings = [
    ...(refused && insist ? [refused] : []),
    ...(subjects.length > 1
      ? [
          `${subjects.length} things differ at once (${subjects.map(({ name }) => name).join(', ')}): a difference cannot be put down to one of them.`,
        ]
      : []),
    ...(details.length ? [`Declared differently: ${inWords(details)}`] : []),
    ...[a, b].flatMap(({ run }, index) =>
      run.notes.map(({ message }) => `${index === 0 ? 'First' : 'Second'} run: ${message}`),
    ),
  ];
  const isShown = !refused || insist;
  return {
    ...(refused && { refused }),
    warnings,
    differences: [...questions, ...subjects, ...details],
    figures: isShown ? comparedFigures(a.run, b.run) : [],
    machine: isShown ? comparedRates(a.run, b.run) : [],
  };
}

/** In what the questions differ that two runs were asked; their answers cannot be compared then. */
export const askedDifferently = (a: Conditions, b: Conditions): Difference[] =>
  SAME_QUESTION.flatMap(([name, declared]) => {
    const [inA, inB] = [declared(a), declared(b)];
    return inA === inB ? [] : [{ name, a: inA, b: inB }];
  });

export const inWords = (differences: readonly Difference[]): string =>
  differences.map(({ name, a, b }) => `${name}: ${a} and ${b}.`).join(' ');

const measured = ({ samples }: Run): Sample[] =>
  samples.filter(({ warmUp, coolDown, hidden }) => !warmUp && !coolDown && !hidden);

function comparedFigures(a: Run, b: Run): ComparedFigure[] {
  return FIGURES.flatMap(({ of, ...figure }) => {
    const [groupsA, groupsB] = [a, b].map((run) =>
      measured(run)
        .map(of)
        .filter(({ length }) => length > 0),
    );
    const found = compareMedians(groupsA!, groupsB!);
    if (!found) return [];
    const n = [groupsA!.length, groupsB!.length] as const;
    const isEnough = Math.min(...n) >= LEAST_REQUESTS;
    const isBeyondNoise = isEnough && (found.ratio.low > 1 || found.ratio.high < 1);
    return [{ ...figure, ...found, n, isBeyondNoise, verdict: verdictOf(figure, found, isEnough, isBeyondNoise) }];
  });
}

function verdictOf(
  { name, lessIsBetter }: { name: string; lessIsBetter: boolean },
  { ratio }: MedianComparison,
  isEnough: boolean,
  isBeyondNoise: boolean,
): string {
  if (!isEnough) return `Too few requests to tell: ${LEAST_REQUESTS} of each are needed.`;
  const change = (value: number): string => `${value >= 1 ? '+' : '−'}${Math.abs((value - 1) * 100).toFixed(1)} %`;
  const between = `${change(ratio.low)} to ${change(ratio.high)}`;
  if (!isBeyondNoise) return `No difference beyond noise (${between}).`;
  const isBetter = ratio.value < 1 === lessIsBetter;
  return `${name} of the second is ${change(ratio.value)} (${between}): ${isBetter ? 'better' : 'worse'}, beyond noise.`;
}

function comparedRates({ figures: a }: Run, { figures: b }: Run): Comparison['machine'] {
  const rates = [
    ['all output tokens', 'tok/s', a.systemTokensPerSecond, b.systemTokensPerSecond],
    ['goodput', 'req/s', a.goodput.requestsPerSecond, b.goodput.requestsPerSecond],
  ] as const;
  return rates.flatMap(([name, unit, inA, inB]) =>
    inA === undefined || inB === undefined || inA === 0 ? [] : [{ name, unit, a: inA, b: inB, ratio: inB / inA }],
  );
}
