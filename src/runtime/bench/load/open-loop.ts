import { askedRate, planArrivals } from './arrivals.ts';
import type { Session } from './session.ts';
import type { Stage } from './recorder.ts';
import type { Workload } from './workload.ts';

/** What an open loop is going to send, planned before it starts. */
export interface OpenPlan {
  /** Of each conversation, ms from the start of the measured part. */
  timesMs: readonly number[];
  /** Conversations from this one on are cool-down. */
  steadyCount: number;
  /** When the measured part ends; absent for a replay without a duration, which ends with its last answer. */
  endMs?: number;
}

/** All arrivals as absolute times: pure, from the seed. */
export function planOpenLoop(workload: Workload): OpenPlan {
  const { arrivals, stop, seed, turns, coolDownMs, trace } = workload;
  if (arrivals.process === 'closed-loop') throw new TypeError('Cannot plan arrivals: a closed loop has none');
  if (arrivals.process === 'trace') {
    const all = (trace ?? []).map(({ arrivalMs }) => arrivalMs / arrivals.speed);
    const within = all.filter((atMs) => stop.durationMs === undefined || atMs < stop.durationMs);
    const timesMs = within.slice(0, stop.requests === undefined ? undefined : Math.ceil(stop.requests / turns));
    return { timesMs, steadyCount: timesMs.length, ...(stop.durationMs !== undefined && { endMs: stop.durationMs }) };
  }
  const perMs = askedRate(arrivals)! / 1000;
  const byTime = stop.durationMs === undefined ? Infinity : Math.max(1, Math.round(stop.durationMs * perMs));
  const byCount = stop.requests === undefined ? Infinity : Math.ceil(stop.requests / turns);
  const steadyCount = Math.min(byTime, byCount);
  const steady = planArrivals(arrivals, steadyCount, seed);
  const endMs = steadyCount / perMs;
  const coolCount = Math.round(coolDownMs * perMs);
  const last =
    arrivals.process === 'ramp' ? { process: 'poisson' as const, ratePerSecond: arrivals.toRatePerSecond } : arrivals;
  const cool = planArrivals(last, coolCount, seed + 1).map((atMs) => endMs + atMs);
  return { timesMs: [...steady, ...cool], steadyCount, endMs };
}

/** Sends every conversation when it is due, however many are still under way. Later turns are due when the user has thought. */
export async function runOpenLoop(session: Session, plan: OpenPlan, shouldEnd: () => boolean): Promise<void> {
  const { gate, timer, hooks } = session;
  const startMs = timer.now();
  const pausedBefore = gate.totalMs;
  const underWay = new Set<Promise<void>>();
  const faults: unknown[] = [];
  for (const [index, atMs] of plan.timesMs.entries()) {
    const dueMs = await gate.sleepUntil(startMs + atMs, pausedBefore, hooks.signal);
    if (shouldEnd() || faults.length) break;
    const stage: Stage = index < plan.steadyCount ? 'steady' : 'cool-down';
    const conversation = converseFrom(session, dueMs, stage)
      .catch((fault: unknown) => void faults.push(fault))
      .finally(() => underWay.delete(conversation));
    underWay.add(conversation);
  }
  session.report('drain');
  await Promise.all(underWay);
  if (faults.length) throw faults[0];
}

async function converseFrom(session: Session, dueMs: number, stage: Stage): Promise<void> {
  const { timer } = session;
  await session.converse(session.takeConversation(), (turn) =>
    Promise.resolve({ stage, plannedMs: turn === 0 ? dueMs : timer.now() }),
  );
}
