import type { Session } from './session.ts';
import type { Stage } from './recorder.ts';

/** How many of the next conversations to prepare when time decides how many there will be: a cap on what is kept in memory. */
const MOST_PREPARED = 2000;

/** Users who each wait for their answer, think, and ask again, all at once. */
export async function runClosedLoop(session: Session, stageOf: () => Stage | undefined): Promise<void> {
  const { arrivals } = session.workload;
  if (arrivals.process !== 'closed-loop') throw new TypeError('Cannot run a closed loop: the arrivals are open');
  const { users, thinkTimeMs } = arrivals;
  const { signal } = session.hooks;
  const userLoop = async (): Promise<void> => {
    let asked = false;
    while (stageOf() !== undefined)
      await session.converse(session.takeConversation(), async () => {
        const { gate, timer } = session;
        await gate.sleepUntil(timer.now() + (asked ? thinkTimeMs : 0), gate.totalMs, signal);
        asked = true;
        const stage = stageOf();
        return stage && { stage };
      });
  };
  await Promise.all(Array.from({ length: users }, userLoop));
}

/**
 * Conversations worth preparing ahead, so that no prompt is made while others are measured: as many as are asked for, or as many as the
 * fastest warm-up answer says the time can hold.
 */
export function conversationsAhead(session: Session): number {
  const { arrivals, stop, turns, warmUpRequests } = session.workload;
  const users = arrivals.process === 'closed-loop' ? arrivals.users : 1;
  const byCount = stop.requests === undefined ? Infinity : Math.ceil(stop.requests / turns) + users;
  const fastestMs = session.recorder.samples.reduce((least, { e2eMs = Infinity }) => Math.min(least, e2eMs), Infinity);
  const byTime =
    stop.durationMs === undefined || warmUpRequests === 0
      ? Infinity
      : Math.ceil((1.2 * users * stop.durationMs) / fastestMs / turns) + users;
  const wanted = Math.min(byCount, byTime);
  return Number.isFinite(wanted) ? Math.min(wanted, MOST_PREPARED) : users;
}
