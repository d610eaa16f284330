import { checkExperiment, type Experiment } from '../bench.ts';
import type { Arrivals } from '../load/arrivals.ts';
import type { LengthDistribution } from '../load/lengths.ts';
import { parseLengths, parseTrace } from '../load/trace-file.ts';
import type { StopRule, Workload } from '../load/workload.ts';
import { parseSlo } from '../slo.ts';
import { WORKLOADS, type WorkloadName } from './presets.ts';
import type { Setup, SetupName } from './setup.ts';

/** An experiment, and what to run it on. */
export interface ReadSetup extends Experiment {
  engines: readonly string[];
  model: string;
  gpuCalls: boolean;
  /** There if `endpoint` is one of the engines. */
  endpoint?: { baseURL: string; model: string };
  /** There if `web-llm` is one of the engines. */
  webLlmModel?: string;
}

/** Files that a setup names: text by name. The command line reads them from disk, the page from what was chosen. */
export type SetupFiles = Readonly<Record<string, string>>;

/** Settings that make a workload what it is; how it arrives is another matter. */
const SHAPE = ['prompt-tokens', 'output-tokens', 'prompt', 'shared-prefix', 'turns', 'trace'] as const;
/** Measured requests where nothing else is said. */
const DEFAULT_REQUESTS = 5;
/** Seconds of an open loop where nothing else is said. */
const DEFAULT_OPEN_SECONDS = 60;

/**
 * What a setup asks for.
 * @param files by the names that `trace` and `file:` have
 * @throws RangeError in words for a value that cannot be
 */
export function readSetup(given: Setup, files: SetupFiles = {}): ReadSetup {
  const name = given.workload ?? 'fixed';
  if (!Object.hasOwn(WORKLOADS, name))
    throw new RangeError(`Cannot run: --workload is ${name}; take one of ${Object.keys(WORKLOADS).join(', ')}`);
  const setup: Setup = { ...WORKLOADS[name as WorkloadName].flags, ...given };
  const read = new Reader(setup, files);
  const arrivals = readArrivals(read);
  const workload: Workload = {
    // With a part of it changed it is another workload.
    name: SHAPE.some((part) => given[part] !== undefined) ? 'custom' : name,
    promptLength: read.length('prompt-tokens', 128),
    ...(setup.prompt !== undefined && { promptText: setup.prompt }),
    sharedPrefixShare: read.number('shared-prefix', 0, 0, 100) / 100,
    turns: read.number('turns', 1, 1),
    outputLength: read.length('output-tokens', 64),
    arrivals: arrivals.arrivals,
    ...(arrivals.trace && { trace: arrivals.trace }),
    stop: readStop(read, arrivals.arrivals),
    warmUpRequests: read.number('warm-up', 1, 0),
    coolDownMs: read.number('cool-down', 0, 0) * 1000,
    keepCache: read.isOn('keep-cache'),
    temperature: read.number('temperature', 0, 0),
    seed: read.number('seed', 1, 0),
    raw: read.isOn('raw'),
    slo: parseSlo(setup.slo ?? 'chat'),
  };
  const experiment: Experiment = {
    workload,
    ...(setup.sweep !== undefined && { sweep: readSweep(setup.sweep) }),
    ...(read.isOn('search') && {
      search: { neededShare: 0.95, tolerance: read.number('tolerance', 3, 0.1, 50) / 100 },
    }),
  };
  checkExperiment(experiment);
  const engines = (setup.engine ?? 'auto').split(',').map((engine) => engine.trim());
  return {
    ...experiment,
    ...readOthers(setup, engines),
    engines,
    model: setup.model ?? 'tutor',
    gpuCalls: read.isOn('gpu-calls'),
  };
}

/** What engines run on that do not run `model`. */
function readOthers(setup: Setup, engines: readonly string[]): Pick<ReadSetup, 'endpoint' | 'webLlmModel'> {
  const { endpoint: baseURL, 'endpoint-model': model, 'web-llm-model': webLlmModel } = setup;
  const needed = (engine: string, name: SetupName, example: string): RangeError =>
    new RangeError(`Cannot run the engine ${engine}: --${name} is not given; give ${example}`);
  if (engines.includes('endpoint')) {
    if (baseURL === undefined) throw needed('endpoint', 'endpoint', 'the URL of a server, http://localhost:8000/v1');
    if (model === undefined) throw needed('endpoint', 'endpoint-model', 'what the server calls its model');
  }
  if (engines.includes('web-llm') && webLlmModel === undefined)
    throw needed('web-llm', 'web-llm-model', 'a name of its catalog');
  return {
    ...(baseURL !== undefined && model !== undefined && { endpoint: { baseURL, model } }),
    ...(webLlmModel !== undefined && { webLlmModel }),
  };
}

/** Values by name, each checked where it is read. */
class Reader {
  readonly #setup: Setup;
  readonly #files: SetupFiles;

  constructor(setup: Setup, files: SetupFiles) {
    this.#setup = setup;
    this.#files = files;
  }

  text(name: SetupName): string | undefined {
    return this.#setup[name];
  }

  /** A switch; in an address `?raw` and `?raw=true` are on. */
  isOn(name: SetupName): boolean {
    const text = this.#setup[name];
    return text !== undefined && text !== 'false' && text !== '0';
  }

  number(name: SetupName, otherwise: number, least: number, most = Infinity): number {
    return this.optionalNumber(name, least, most) ?? otherwise;
  }

  optionalNumber(name: SetupName, least: number, most = Infinity): number | undefined {
    const text = this.#setup[name];
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value < least || value > most)
      throw new RangeError(
        `Cannot run: --${name} is ${text}; give a number ${most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`}`,
      );
    return value;
  }

  file(name: string): string {
    const text = this.#files[name];
    if (text === undefined) throw new RangeError(`Cannot run: the file ${name} was not read; choose it`);
    return text;
  }

  length(name: 'prompt-tokens' | 'output-tokens', otherwise: number): LengthDistribution {
    const text = this.#setup[name];
    if (text === undefined) return { kind: 'fixed', tokens: otherwise };
    const [kind, rest] = text.includes(':')
      ? [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 1)]
      : ['fixed', text];
    const numbers = rest.split(kind === 'uniform' ? '-' : ',').map((part) => (part.trim() === '' ? NaN : Number(part)));
    const [first = NaN, second = NaN] = numbers;
    switch (kind) {
      case 'fixed':
        return { kind, tokens: this.#whole(name, text, first) };
      case 'uniform':
        return { kind, min: this.#whole(name, text, first), max: this.#whole(name, text, second) };
      case 'exponential':
        return { kind, mean: this.#whole(name, text, first) };
      case 'lognormal':
        return { kind, mean: this.#whole(name, text, first), p99: this.#whole(name, text, second) };
      case 'file':
        return { kind: 'empirical', name: rest, lengths: parseLengths(this.file(rest)) };
      default:
        throw refusedLength(name, text);
    }
  }

  #whole(name: string, text: string, value: number): number {
    if (!(Number.isFinite(value) && value >= 1)) throw refusedLength(name, text);
    return value;
  }
}

const refusedLength = (name: string, text: string): RangeError =>
  new RangeError(
    `Cannot run: --${name} is ${text}; give a number of at least 1, uniform:A-B, exponential:MEAN, lognormal:MEAN,P99 or file:PATH`,
  );

function readArrivals(read: Reader): { arrivals: Arrivals; trace?: Workload['trace'] } {
  const isOverRate = read.isOn('search') || read.text('sweep')?.startsWith('rate:') === true;
  const process =
    read.text('arrivals') ?? (read.text('trace') !== undefined ? 'trace' : isOverRate ? 'poisson' : 'closed');
  const ratePerSecond = (): number => {
    const rate = read.optionalNumber('rate', 0);
    if (rate !== undefined) return rate;
    if (isOverRate) return 1; // each run has its own
    throw new RangeError(`Cannot run: ${process} arrivals need a rate; give --rate, requests per second`);
  };
  switch (process) {
    case 'closed':
      return {
        arrivals: {
          process: 'closed-loop',
          users: read.number('users', 1, 1),
          thinkTimeMs: read.number('think-time', 0, 0),
        },
      };
    case 'constant':
    case 'poisson':
      return { arrivals: { process, ratePerSecond: ratePerSecond() } };
    case 'gamma':
      return { arrivals: { process, ratePerSecond: ratePerSecond(), burstiness: read.number('burstiness', 0.5, 0) } };
    case 'ramp':
      return {
        arrivals: {
          process,
          fromRatePerSecond: read.number('rate', 0, 0),
          toRatePerSecond: read.number('rate-to', NaN, 0),
        },
      };
    case 'trace': {
      const name = read.text('trace') ?? '';
      const trace = parseTrace(read.file(name));
      return { arrivals: { process, name, requests: trace.length, speed: read.number('trace-speed', 1, 0) }, trace };
    }
    default:
      throw new RangeError(
        `Cannot run: --arrivals is ${process}; take one of closed, constant, poisson, gamma, ramp, trace`,
      );
  }
}

function readStop(read: Reader, { process }: Arrivals): StopRule {
  const requests = read.optionalNumber('requests', 1);
  const seconds = read.optionalNumber('duration', 0.001);
  const precision = read.optionalNumber('precision', 0.1, 100);
  const isOpen = process !== 'closed-loop' && process !== 'trace';
  const stop: StopRule = {
    ...(requests !== undefined && { requests }),
    ...(seconds !== undefined && { durationMs: seconds * 1000 }),
    ...(precision !== undefined && { p95Within: precision / 100 }),
  };
  if (isOpen && requests === undefined && seconds === undefined) stop.durationMs = DEFAULT_OPEN_SECONDS * 1000;
  const saysWhen = requests !== undefined || seconds !== undefined || precision !== undefined;
  if (process === 'closed-loop' && !saysWhen) stop.requests = DEFAULT_REQUESTS;
  return stop;
}

function readSweep(text: string): NonNullable<Experiment['sweep']> {
  const [over, list = ''] = text.split(':');
  const values = list.split(',').map((value) => (value.trim() === '' ? NaN : Number(value)));
  if ((over !== 'users' && over !== 'rate') || values.some((value) => !(value > 0)))
    throw new RangeError(`Cannot run: --sweep is ${text}; give users:1,2,4,8 or rate:0.5,1,2`);
  return { over, values };
}
