import type { Diagnosis, Verdict } from './diagnosis.ts';
import type { DiagnosisContext } from './step-split.ts';

type Facts = Omit<Diagnosis, 'finding' | 'advice' | 'plain'> & {
  /** Mean sequences in a step. */
  batch: number;
};
type Words = Pick<Diagnosis, 'finding' | 'advice' | 'plain'>;

/** A verdict in three sentences: its numbers, what to do, and the same for everybody. */
export function verdictWords(facts: Facts, context: DiagnosisContext): Words {
  const { verdict, certainty, n, hiddenSteps, runnerUp } = facts;
  if (verdict === undefined) return noVerdict(n, hiddenSteps);
  if (certainty === 'weak') return weakWords(verdict, facts, context);
  const follows =
    runnerUp === undefined ? '' : `; ${SHORT_NAMES[runnerUp]} follows with ${percent(shareOf(runnerUp, facts))}`;
  const { advice, plain } = ADVICE[verdict];
  return {
    finding: `${NAMES[verdict]}: ${numbers(verdict, facts, context)}${follows}.`,
    advice: `${advice(facts)} about ${facts.speedUp!.toFixed(1)} x.`,
    plain: plain(subjectOf(facts)),
  };
}

const subjectOf = ({ kind }: Facts): string => (kind === 'decode' ? 'each word' : 'the first word');

/** Most of the time has no name: it is said where it went by, and that a smaller model is not what helps. */
function weakWords(verdict: Verdict, facts: Facts, { device, peaks }: DiagnosisContext): Words {
  const { roofline: under, stepMs, belowRoofMs, computeOrWaitMs, unexplainedMs } = facts;
  const rest = `${percent(unexplainedMs / stepMs!)} of ${ms(stepMs!)} per step`;
  const subject = subjectOf(facts);
  const gain = `about ${facts.speedUp!.toFixed(1)} x.`;
  const chip = device === 'gpu' ? 'graphics chip' : 'processor';
  if (belowRoofMs >= unexplainedMs / 2) {
    const roof =
      under.boundBy === 'compute'
        ? `${percent((under.computeMs ?? 0) / stepMs!)} of ${amount(peaks.flopPerSecond!, 'FLOP/s')}`
        : under.boundBy === 'memory'
          ? `${percent((under.memoryMs ?? 0) / stepMs!)} of ${amount(peaks.bytesPerSecond!, 'B/s')}`
          : 'an unknown share of the roof';
    return {
      finding: `${NAMES[verdict]}, but far below the roof: kernels reach ${roof}; ${rest} have no other explanation.`,
      advice: `Kernels at the roof would give up to ${gain}`,
      plain: `Most of the time the ${chip} is busy computing ${subject}, and not as fast as it could; better programs for it would help most.`,
    };
  }
  if (computeOrWaitMs >= unexplainedMs / 2) {
    return {
      finding: `${NAMES[verdict]}, as far as can be told: ${rest} go by until the result is there, computing or waiting.`,
      advice: 'Take a device or browser with timestamps, or an engine that counts its work, to tell the two apart.',
      plain: `Most of the time goes by waiting for the ${chip} to finish ${subject}; this browser does not tell what it does meanwhile.`,
    };
  }
  return {
    finding: `${NAMES[verdict]}, as far as can be told: ${percent(shareOf(verdict, facts))}; ${rest} are unexplained.`,
    advice:
      'Close other programs and pages, and probe the device again: something that is not measured takes the time.',
    plain: `Most of the time for ${subject} cannot be explained; other programs may be keeping this device busy.`,
  };
}

const NAMES: Readonly<Record<Verdict, string>> = {
  memory: 'Memory-bound',
  compute: 'Compute-bound',
  dispatch: 'Dispatch-bound',
  readback: 'Bound by readback',
  host: 'Bound by the host',
  batch: 'Bound by the batch',
};

const SHORT_NAMES: Readonly<Record<Verdict, string>> = {
  memory: 'memory',
  compute: 'compute',
  dispatch: 'dispatch',
  readback: 'readback',
  host: 'the host',
  batch: 'the batch',
};

/** The share that speaks for a verdict: memory and compute without what the step did for others. */
function shareOf(verdict: Verdict, { shares }: Pick<Facts, 'shares'>): number {
  const share = shares[verdict] ?? 0;
  const isFloor = verdict === 'memory' || verdict === 'compute';
  return isFloor && share > 0 ? share - (shares.batch ?? 0) : share;
}

function numbers(verdict: Verdict, facts: Facts, { peaks }: DiagnosisContext): string {
  const stepMs = facts.stepMs!;
  const ofStep = `${percent(shareOf(verdict, facts))} of ${ms(stepMs)} per step`;
  const { work, parts } = facts;
  switch (verdict) {
    case 'memory':
      return `${percent(facts.shares.memory ?? 0)} of ${amount(peaks.bytesPerSecond!, 'B/s')}, reading ${amount(work!.bytes!, 'B')} in steps of ${ms(stepMs)}`;
    case 'compute':
      return `${percent(facts.shares.compute ?? 0)} of ${amount(peaks.flopPerSecond!, 'FLOP/s')}, for ${amount(work!.flop!, 'FLOP')} in steps of ${ms(stepMs)}`;
    case 'dispatch':
      return `${ofStep}, at ${ms(peaks.dispatchMs!)} for each dispatch`;
    case 'readback':
      return `${ofStep} (${ms(parts.readbackMs!)}) wait for results to come back to the CPU`;
    case 'host':
      return `${ofStep} (${ms(parts.hostMs!)}) go by on the CPU around the computation`;
    case 'batch':
      return `${ofStep} are for other sequences (${facts.batch.toFixed(1)} share a step)`;
  }
}

const ADVICE: Readonly<Record<Verdict, { advice: (facts: Facts) => string; plain: (subject: string) => string }>> = {
  memory: {
    advice: () => 'Half the bytes (weights of fewer bits, a smaller model, a shorter context) would give',
    plain: (subject) =>
      `Most of the time goes into reading the model from memory for ${subject}; a smaller or more tightly packed model would be faster.`,
  },
  compute: {
    advice: ({ kind }) =>
      kind === 'prefill'
        ? 'Half the prompt to compute (a prefix cache, a shorter prompt), or a model of half the size, would give'
        : 'Half the arithmetic (a smaller model, f16 or packed INT8 instead of f32) would give',
    plain: (subject) =>
      `Most of the time goes into the arithmetic for ${subject}; a smaller model or a shorter question would be faster.`,
  },
  dispatch: {
    advice: () => 'Half the dispatches (fused kernels) would give',
    plain: (subject) =>
      `Most of the time goes into handing many small jobs to the graphics chip for ${subject}; fewer and larger ones would be faster.`,
  },
  readback: {
    advice: () => 'Not waiting for results (steps enqueued ahead, sampling on the GPU) would give up to',
    plain: (subject) =>
      `Most of the time goes into waiting for the graphics chip to hand over its result for ${subject}, not into computing it.`,
  },
  host: {
    advice: () => 'A free CPU (the engine in a worker, less work per token in the page) would give up to',
    plain: (subject) =>
      `Most of the time for ${subject} goes by in the browser around the model; a less busy page would be faster.`,
  },
  batch: {
    advice: () => 'Fewer sequences at once, or none while a prompt is read, would give each of them up to',
    plain: (subject) => `Most of the time for ${subject} goes into other answers that are written at the same moment.`,
  },
};

function noVerdict(n: number, hiddenSteps: number): Words {
  if (n > 0) {
    return {
      finding: `No verdict: too little is known of where the time of ${n} steps went.`,
      advice: 'Probe the device, or take an engine that measures its steps.',
      plain: 'This engine does not tell what it spends its time on.',
    };
  }
  const why = hiddenSteps > 0 ? `all ${hiddenSteps} steps ran while the page was hidden` : 'no steps were recorded yet';
  return {
    finding: `No verdict: ${why}.`,
    advice: 'Generate an answer while the page is visible.',
    plain: 'Ask something to see what limits the speed here.',
  };
}

const percent = (share: number): string => (share > 0 && share < 0.01 ? 'under 1 %' : `${Math.round(share * 100)} %`);

function ms(value: number): string {
  if (value < 0.1) return `${(value * 1000).toPrecision(2)} us`;
  return value < 10 ? `${value.toPrecision(2)} ms` : `${value.toFixed(0)} ms`;
}

/** With an SI prefix and two or three digits. */
function amount(value: number, unit: string): string {
  for (const [prefix, size] of [
    ['T', 1e12],
    ['G', 1e9],
    ['M', 1e6],
    ['k', 1e3],
  ] as const) {
    if (value < size) continue;
    const scaled = value / size;
    return `${scaled < 10 ? scaled.toFixed(1) : scaled.toFixed(0)} ${prefix}${unit}`;
  }
  return `${value.toFixed(0)} ${unit}`;
}
