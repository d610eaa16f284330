import { TokenglassError } from '../../shared/errors.ts';

/** More wait than an engine keeps. */
export function queueFull(queued: number, maxQueued: number): TokenglassError {
  return new TokenglassError(
    'queue-full',
    `Cannot generate: ${queued} requests wait already, and the engine keeps ${maxQueued}; try again when one has ended`,
    { details: { queued, maxQueued } },
  );
}

/** A request took longer than it may. */
export function timedOut(timeoutMs: number): TokenglassError {
  return new TokenglassError(
    'timeout',
    `Cannot finish the answer: it has taken longer than its timeoutMs of ${timeoutMs}; give it more, or ask for fewer tokens`,
    { details: { timeoutMs } },
  );
}
