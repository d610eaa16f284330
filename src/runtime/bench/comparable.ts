import { askedDifferently, inWords, LEAST_REQUESTS } from './compare.ts';
import { describeAdapter } from './headline.ts';
import type { Run } from './report.ts';
import type { Sample } from './sample.ts';

/** What of two runs is held against each other. */
export const COMPARED_FIGURES = ['TTFT', 'ms/token', 'tok/s', 'prefill', 'E2E'] as const;
export type ComparedName = (typeof COMPARED_FIGURES)[number];

/** `no`: the ratio means nothing; `with-care`: it means what the reason leaves of it. */
export type Comparable = 'yes' | 'with-care' | 'no';

/** Why figures of two runs are not to be compared as they stand. */
export interface Caveat {
  verdict: Exclude<Comparable, 'yes'>;
  figures: readonly ComparedName[];
  /** A sentence. */
  reason: string;
}

export interface Comparability {
  /** Names of the runs. */
  a: string;
  b: string;
  verdicts: Readonly<Record<ComparedName, Comparable>>;
  /** Those that forbid come first. */
  caveats: readonly Caveat[];
  /** What to know beside that: what the two have in common, or what is the point of comparing them. */
  remarks: readonly string[];
}

type Judged = Pick<Run, 'conditions' | 'samples' | 'notes'>;

/** One run, with what the rules ask of it. */
interface Side {
  run: Judged;
  name: string;
  steady: readonly Sample[];
  /** Of the first measured request. */
  sample: Sample;
  cachedShare: number;
}

const EVERYTHING = COMPARED_FIGURES;
const PER_TOKEN: readonly ComparedName[] = ['ms/token', 'tok/s'];

/** Each looks at one thing. Two runs of which nothing is found wrong are comparable. */
const RULES: readonly ((a: Side, b: Side) => Caveat | undefined)[] = [
  question,
  softwareAdapter,
  precision,
  tokenizer,
  cacheState,
  otherAnswers,
  uncounted,
  notMeasured,
  onAServer,
  order,
  fewRequests,
];

/**
 * Which figures of two runs can be compared, and why others cannot: precision, tokenizer, cache, counting, software adapter, order. Judged by what the runs
 * declare and by their samples. Absent where either has no measured request.
 */
export function comparability(a: Judged, b: Judged): Comparability | undefined {
  const [sideA, sideB] = [sideOf(a), sideOf(b)];
  if (!sideA || !sideB) return undefined;
  const found = RULES.flatMap((rule) => rule(sideA, sideB) ?? []);
  const caveats = [
    ...found.filter(({ verdict }) => verdict === 'no'),
    ...found.filter(({ verdict }) => verdict !== 'no'),
  ];
  const verdictOf = (figure: ComparedName): Comparable =>
    caveats.find(({ figures }) => figures.includes(figure))?.verdict ?? 'yes';
  return {
    a: sideA.name,
    b: sideB.name,
    verdicts: Object.fromEntries(EVERYTHING.map((figure) => [figure, verdictOf(figure)])) as Comparability['verdicts'],
    caveats,
    remarks: remarksOn(sideA, sideB),
  };
}

/** The same for people, a sentence or two a line: what can be compared, what cannot and why, and what to know. */
export function comparabilityLines({ a, b, verdicts, caveats, remarks }: Comparability): string[] {
  const free = EVERYTHING.filter((figure) => verdicts[figure] === 'yes');
  const all = free.length === EVERYTHING.length;
  const said = all ? 'everything' : free.length ? free.join(', ') : 'nothing as it stands';
  return [
    `${b} against ${a}, comparable: ${said}.`,
    ...caveats.map(
      ({ verdict, figures, reason }) =>
        `${verdict === 'no' ? 'Not comparable' : 'With care'}: ${figures.length === EVERYTHING.length ? 'everything' : figures.join(', ')}. ${reason}`,
    ),
    ...remarks,
  ];
}

/** {@link comparabilityLines} of each run against the first. */
export const comparabilityOfRuns = ([first, ...others]: readonly Judged[]): string[] =>
  others.flatMap((run) => {
    const found = comparability(first!, run);
    return found ? comparabilityLines(found) : [];
  });

function sideOf(run: Judged): Side | undefined {
  const steady = run.samples.filter(({ warmUp, coolDown }) => !warmUp && !coolDown);
  const [sample] = steady;
  if (!sample) return undefined;
  const sum = (pick: (sample: Sample) => number): number => steady.reduce((total, one) => total + pick(one), 0);
  const promptTokens = sum((one) => one.promptTokens);
  const cachedShare = promptTokens > 0 ? sum((one) => one.cachedTokens) / promptTokens : 0;
  return { run, name: run.conditions.engine.name, steady, sample, cachedShare };
}

function question({ run: a }: Side, { run: b }: Side): Caveat | undefined {
  const differences = askedDifferently(a.conditions, b.conditions);
  if (differences.length === 0) return undefined;
  return { verdict: 'no', figures: EVERYTHING, reason: `They were not asked the same. ${inWords(differences)}` };
}

function softwareAdapter(a: Side, b: Side): Caveat | undefined {
  const soft = [a, b].filter(({ run }) => run.conditions.adapter?.isFallback);
  const [first] = soft;
  if (!first) return undefined;
  const adapter = describeAdapter(first.run.conditions.adapter!);
  if (soft.length === 2)
    return {
      verdict: 'with-care',
      figures: EVERYTHING,
      reason: `Both ran on ${adapter}, where the CPU plays the GPU: that says little about either on a GPU.`,
    };
  const reason = `${first.name} ran on ${adapter}, where the CPU plays the GPU: its times say nothing about a GPU.`;
  return { verdict: 'no', figures: EVERYTHING, reason };
}

/** Bits of a weight, by the names that formats have: `Q4_0`, `q4f16`, `int8`, `BF16`; MLC's `q0f16` is not quantised. */
function bitsOf(quantization: string): number | undefined {
  const bits = /\d+/.exec(quantization.replace(/^q0f/i, 'f'));
  return bits ? Number(bits[0]) : undefined;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`;

function precision(a: Side, b: Side): Caveat | undefined {
  const [modelA, modelB] = [a.run.conditions.model, b.run.conditions.model];
  const [bitsA, bitsB] = [bitsOf(modelA.quantization), bitsOf(modelB.quantization)];
  if (bitsA !== undefined && bitsA === bitsB) return undefined;
  if (bitsA === undefined || bitsB === undefined) {
    const unknown = [bitsA === undefined && a.name, bitsB === undefined && b.name].filter(Boolean).join(' and ');
    const reason = `The precision of ${unknown} is not known: it may read other weights for each token.`;
    return { verdict: 'with-care', figures: EVERYTHING, reason };
  }
  const reason = `Different precision: ${a.name} has ${bitsA}-bit weights (${modelA.quantization}), ${b.name} ${bitsB}-bit ones (${modelB.quantization}), so each token reads other bytes.`;
  return { verdict: 'no', figures: EVERYTHING, reason };
}

function tokenizer(a: Side, b: Side): Caveat | undefined {
  const figures: readonly ComparedName[] = [...PER_TOKEN, 'prefill'];
  const [promptA, promptB] = [a.sample.promptTokens, b.sample.promptTokens];
  if (promptA > 0 && promptB > 0 && promptA !== promptB) {
    const reason = `Different tokenizer or template: the prompt has ${promptA} tokens for ${a.name} and ${promptB} for ${b.name}, so a token is not the same piece of text.`;
    return { verdict: 'no', figures, reason };
  }
  const isSameText = a.sample.text !== '' && a.sample.text === b.sample.text;
  // Whether the end token is counted differs between libraries: one is no sign.
  if (!isSameText || Math.abs(a.sample.outputTokens - b.sample.outputTokens) <= 1) return undefined;
  if (a.sample.outputTokens === 0 || b.sample.outputTokens === 0) return undefined; // not counted: another rule
  const reason = `Different tokenizer or counting: the same answer has ${a.sample.outputTokens} tokens for ${a.name} and ${b.sample.outputTokens} for ${b.name}.`;
  return { verdict: 'no', figures, reason };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** The part of a name before its settings: `webgpu` of `webgpu (cache on)`. */
const engineOf = ({ name }: Side): string => name.split(' (')[0]!;

/** True if the two differ in settings alone, so that what the settings do is the point. */
function isSameEngine(a: Side, b: Side): boolean {
  const facts = ({ run: { conditions } }: Side) => [
    conditions.engine.version,
    conditions.model.id,
    conditions.model.quantization,
    conditions.adapter?.description,
  ];
  return engineOf(a) === engineOf(b) && facts(a).join() === facts(b).join();
}

const cachesDiffer = (a: Side, b: Side): boolean => Math.abs(a.cachedShare - b.cachedShare) >= 0.01;

function cacheState(a: Side, b: Side): Caveat | undefined {
  if (!cachesDiffer(a, b) || isSameEngine(a, b)) return undefined;
  const reason = `Different state of the prefix cache: ${a.name} found ${percent(a.cachedShare)} of its prompt there, ${b.name} ${percent(b.cachedShare)}; one computed what the other looked up.`;
  return { verdict: 'no', figures: ['TTFT', 'prefill', 'E2E'], reason };
}

function otherAnswers(a: Side, b: Side): Caveat | undefined {
  if (a.sample.text === b.sample.text) return undefined;
  const [tokensA, tokensB] = [a.sample.outputTokens, b.sample.outputTokens];
  if (tokensA === tokensB) return undefined;
  const reason = `They wrote different answers (${tokensA} and ${tokensB} tokens), and a longer one takes longer.`;
  return { verdict: 'no', figures: ['E2E'], reason };
}

function uncounted(a: Side, b: Side): Caveat | undefined {
  const blind = [a, b].filter(({ sample }) => sample.outputTokens === 0 && sample.text !== '');
  if (blind.length)
    return {
      verdict: 'no',
      figures: PER_TOKEN,
      reason: `${blind.map(({ name }) => name).join(' and ')} does not tell how many tokens it wrote.`,
    };
  const idless = [a, b].filter(({ sample }) => sample.ids.length === 0 && sample.outputTokens > 0);
  if (idless.length === 0) return undefined;
  const names = idless.map(({ name }) => name).join(' and ');
  return {
    verdict: 'with-care',
    figures: PER_TOKEN,
    reason: `${names} ${idless.length === 1 ? 'tells' : 'tell'} no token ids: the tokens are those that it counts itself, with the times at which its messages came.`,
  };
}

const MEASURED: readonly (readonly [figure: ComparedName, of: (sample: Sample) => number | undefined])[] = [
  ['TTFT', ({ ttftMs }) => ttftMs],
  ['ms/token', ({ tpotMs }) => tpotMs],
  ['tok/s', ({ tpotMs }) => tpotMs],
  ['prefill', ({ prefillTokensPerSecond }) => prefillTokensPerSecond],
  ['E2E', ({ e2eMs }) => e2eMs],
];

function notMeasured(a: Side, b: Side): Caveat | undefined {
  const lacks = ({ steady }: Side): ComparedName[] =>
    MEASURED.flatMap(([figure, of]) => (steady.every((sample) => of(sample) === undefined) ? [figure] : []));
  const [lacksA, lacksB] = [lacks(a), lacks(b)];
  const figures = EVERYTHING.filter((figure) => lacksA.includes(figure) || lacksB.includes(figure));
  if (figures.length === 0) return undefined;
  const names = [lacksA.length && a.name, lacksB.length && b.name].filter(Boolean).join(' and ');
  return { verdict: 'no', figures, reason: `Not measured by ${names}.` };
}

function onAServer(a: Side, b: Side): Caveat | undefined {
  const remote = [a, b].filter((side) => engineOf(side) === 'endpoint');
  if (remote.length === 0) return undefined;
  const names = remote.map(({ name }) => name).join(' and ');
  return {
    verdict: 'with-care',
    figures: EVERYTHING,
    reason: `${names} runs on a server: its times have the network in them, and its hardware is not this device.`,
  };
}

function order({ run: a }: Side, { run: b }: Side): Caveat | undefined {
  const has = (code: 'one-after-another' | 'at-once'): boolean =>
    [a, b].some(({ notes }) => notes.some((note) => note.code === code));
  if (has('at-once'))
    return {
      verdict: 'with-care',
      figures: EVERYTHING,
      reason: 'They ran at once and shared the device: each is slower than it is alone.',
    };
  if (!has('one-after-another')) return undefined;
  const reason = 'They ran one after another, not in turns: a device that gets warm meets them differently.';
  return { verdict: 'with-care', figures: EVERYTHING, reason };
}

function fewRequests({ steady: a }: Side, { steady: b }: Side): Caveat | undefined {
  const least = Math.min(a.length, b.length);
  if (least >= LEAST_REQUESTS) return undefined;
  const reason = `${least} ${least === 1 ? 'request' : 'requests'} of each cannot tell a difference from noise; take at least ${LEAST_REQUESTS}.`;
  return { verdict: 'with-care', figures: EVERYTHING, reason };
}

function remarksOn(a: Side, b: Side): string[] {
  const [modelA, modelB] = [a.run.conditions.model, b.run.conditions.model];
  const bits = bitsOf(modelA.quantization);
  const isOtherFormat = bits === bitsOf(modelB.quantization) && modelA.quantization !== modelB.quantization;
  const sameIds = a.sample.ids.length > 0 && a.sample.ids.join() === b.sample.ids.join();
  const remarks = [
    isOtherFormat &&
      `Both have ${bits}-bit weights, in two formats: ${modelA.quantization} (${megabytes(modelA.weightBytes)}) and ${modelB.quantization} (${megabytes(modelB.weightBytes)}).`,
    sameIds ? 'Both gave the very same tokens.' : a.sample.text === b.sample.text && 'Both gave the very same text.',
    cachesDiffer(a, b) &&
      isSameEngine(a, b) &&
      `The prefix cache is what is compared: ${a.name} found ${percent(a.cachedShare)} of its prompt there, ${b.name} ${percent(b.cachedShare)}.`,
  ];
  return remarks.filter((remark) => remark !== false);
}
