import type { Workload } from '../../src/runtime/bench/load/workload.ts';
import type { RaceOrder } from '../../src/runtime/bench/race.ts';
import { SLOS } from '../../src/runtime/bench/slo.ts';
import { readSpec, writeSpec, type Spec } from './contenders.ts';

/** A race as it is set up; the address of the page says all of it. */
export interface RaceSetup {
  /** `?c=webgpu&c=onnx-wasm;threads=1` */
  specs: readonly Spec[];
  /** `?prompt=` */
  prompt: string;
  /** `?model=` as `createEngine` takes it */
  model: string;
  /** `?tokens=` at most, of each answer */
  tokens: number;
  /** `?rounds=` measured answers of each */
  rounds: number;
  /** `?warm-up=` answers before them that are left out */
  warmUp: number;
  /** `?order=` */
  order: RaceOrder;
}

export const ORDERS: readonly (readonly [RaceOrder, string])[] = [
  ['turns', 'in turns, A B A B'],
  ['apart', 'one after another, one in memory'],
  ['at-once', 'at once, sharing the device'],
];

/** More columns cannot be followed. */
export const MOST_CONTENDERS = 6;

const DEFAULTS = {
  prompt: 'What is TTFT?',
  model: 'tutor',
  tokens: 64,
  rounds: 5,
  'warm-up': 1,
  order: 'turns',
} as const;
const DEFAULT_CONTENDERS = ['webgpu', 'onnx-wasm'];

/** @throws RangeError in words */
export function readRaceSetup(search: string): RaceSetup {
  const query = new URLSearchParams(search);
  const number = (name: 'tokens' | 'rounds' | 'warm-up', least: number, most: number): number => {
    const text = query.get(name) ?? String(DEFAULTS[name]);
    const value = Number(text);
    if (text.trim() === '' || !Number.isInteger(value) || value < least || value > most)
      throw new RangeError(`Cannot race: ${name} is "${text}"; give a whole number from ${least} to ${most}`);
    return value;
  };
  const named = query.get('order') ?? DEFAULTS.order;
  const order = ORDERS.find(([name]) => name === named)?.[0];
  if (!order)
    throw new RangeError(`Cannot race: order is "${named}"; take one of ${ORDERS.map(([name]) => name).join(', ')}`);
  const asked = query.getAll('c');
  return {
    specs: (asked.length ? asked : DEFAULT_CONTENDERS).slice(0, MOST_CONTENDERS).map(readSpec),
    prompt: query.get('prompt') ?? DEFAULTS.prompt,
    model: query.get('model') ?? DEFAULTS.model,
    tokens: number('tokens', 2, 4096),
    rounds: number('rounds', 1, 1000),
    warmUp: number('warm-up', 0, 10),
    order,
  };
}

/** What {@link readRaceSetup} reads back; what is as usual is left out. */
export function writeRaceSetup({ specs, warmUp, ...rest }: RaceSetup): string {
  const query = new URLSearchParams(specs.map((spec) => ['c', writeSpec(spec)]));
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    const value = name === 'warm-up' ? warmUp : rest[name as keyof typeof rest];
    if (value !== usual) query.set(name, String(value));
  }
  return query.toString();
}

/** The same question each time, greedily, one user: what differs between rounds is the device. */
export function workloadOf({ prompt, tokens, rounds, warmUp }: RaceSetup): Workload {
  return {
    name: 'race',
    promptText: prompt,
    promptLength: { kind: 'fixed', tokens: 1 }, // of no effect beside a text
    outputLength: { kind: 'fixed', tokens },
    sharedPrefixShare: 0,
    turns: 1,
    arrivals: { process: 'closed-loop', users: 1, thinkTimeMs: 0 },
    stop: { requests: rounds },
    warmUpRequests: warmUp,
    coolDownMs: 0,
    // Only contenders with "cache on" have one, and theirs is to be found filled.
    keepCache: true,
    temperature: 0,
    seed: 1,
    raw: false,
    slo: SLOS.chat,
  };
}
