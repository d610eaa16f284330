import { isTokenglassError } from '../../../shared/errors.ts';
import type { LoadWarning } from '../../../shared/info.ts';

/** What to tell people when a model runs but could not be stored. */
export function notSavedWarning(error: unknown): LoadWarning {
  if (isTokenglassError(error, 'storage-full')) {
    const { neededBytes, availableBytes } = error.details as { neededBytes: number; availableBytes: number };
    const message = `Runs, not saved: it needs ${megabytes(neededBytes)} on this device, and ${megabytes(availableBytes)} are free; it will be downloaded again next time.`;
    return { code: 'not-saved', message, neededBytes, availableBytes };
  }
  const name = error instanceof Error || error instanceof DOMException ? error.name : '';
  const why =
    name === 'QuotaExceededError'
      ? 'the room for this site on this device is used up'
      : name === 'NotFoundError'
        ? 'it was deleted while it was being downloaded'
        : 'this browser does not let the page store data';
  return { code: 'not-saved', message: `Runs, not saved: ${why}; it will be downloaded again next time.` };
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
