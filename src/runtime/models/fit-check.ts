import { TokenglassError } from '../../shared/errors.ts';
import { CATALOG, catalogEntry } from './catalog-entries.ts';

/** Bytes that a model takes while it runs. Parts that are not known are left out; the check is then the weaker for it. */
export interface ModelNeeds {
  /** What people call it. */
  model: string;
  /** As they lie on the device. */
  weightBytes: number;
  /** Of the context that was asked for. */
  kvBytes?: number;
  /** Activations, logits, staging. */
  scratchBytes?: number;
  /** The largest single buffer, a matrix for example. */
  largestBufferBytes?: number;
}

/** What the device gives; a limit that is not known is left out. */
export interface DeviceLimits {
  /** For everything together. */
  memoryBytes?: number;
  /** For a single buffer. */
  maxBufferBytes?: number;
}

/**
 * Checks, before a model is downloaded, that it can run here.
 * @throws TokenglassError `model-too-large`, with the bytes that are needed and that there are, and, where the catalog has one, the name
 *   of a smaller model that fits (`details`: `neededBytes`, `availableBytes`, `limit`, `smallerModel`)
 */
export function checkFit(needs: ModelNeeds, limits: DeviceLimits): void {
  const { model, weightBytes, kvBytes = 0, scratchBytes = 0, largestBufferBytes = 0 } = needs;
  const { memoryBytes = Infinity, maxBufferBytes = Infinity } = limits;
  const totalBytes = weightBytes + kvBytes + scratchBytes;
  if (totalBytes > memoryBytes) {
    const parts = `${megabytes(weightBytes)} of weights, ${megabytes(kvBytes)} of KV, ${megabytes(scratchBytes)} besides`;
    throw tooLarge(
      { model, neededBytes: totalBytes, availableBytes: memoryBytes, limit: 'memory' },
      `it needs ${megabytes(totalBytes)} (${parts})`,
    );
  }
  if (largestBufferBytes > maxBufferBytes) {
    throw tooLarge(
      { model, neededBytes: largestBufferBytes, availableBytes: maxBufferBytes, limit: 'buffer' },
      `its largest matrix takes ${megabytes(largestBufferBytes)} in one buffer`,
    );
  }
}

/**
 * Bytes that a model may take here, as far as can be told without trying: the memory of the device, where it has less than 8 GiB
 * (browsers say no more than that), and on WASM the 4 GiB of a 32-bit address space.
 *
 * @returns undefined if no limit is known
 */
export function memoryLimit(isWasm: boolean): number | undefined {
  const { deviceMemory } = (globalThis as { navigator?: { deviceMemory?: number } }).navigator ?? {};
  const memory = deviceMemory !== undefined && deviceMemory < 8 ? deviceMemory * 2 ** 30 : Infinity;
  const bytes = Math.min(memory, isWasm ? 2 ** 32 : Infinity);
  return bytes === Infinity ? undefined : bytes;
}

/** What is known of a model for which a smaller one is looked for. */
export interface SmallerThan {
  /** Bytes that the smaller one may take. @default any number */
  availableBytes?: number;
  /** Bytes that the model itself takes, where it is none of the catalog. */
  ownBytes?: number | undefined;
}

/**
 * Name of the largest model of the catalog that is smaller than `model` and takes at most `availableBytes`; undefined if there is none. Of a
 * model of which nothing is known, only the built-in one is certainly smaller.
 *
 * @param model name in the catalog, id on the Hub, or anything else
 */
export function smallerModel(model: string, { availableBytes = Infinity, ownBytes }: SmallerThan = {}): string | undefined {
  const own = catalogEntry(model);
  const most = own?.neededBytes ?? ownBytes;
  return CATALOG.filter(({ name, neededBytes, hub }) => name !== own?.name && (most === undefined ? !hub : neededBytes < most))
    .filter(({ neededBytes }) => neededBytes <= availableBytes)
    .toSorted((a, b) => b.neededBytes - a.neededBytes)[0]?.name;
}

function tooLarge(
  details: { model: string; neededBytes: number; availableBytes: number; limit: 'memory' | 'buffer' },
  needs: string,
): TokenglassError {
  const { model, availableBytes, neededBytes } = details;
  const smaller = smallerModel(model, { availableBytes, ownBytes: neededBytes });
  const advice = smaller === undefined ? 'take a smaller model or a shorter context' : `take "${smaller}" instead`;
  const message = `Cannot load ${details.model}: ${needs}, and this device gives ${megabytes(details.availableBytes)}; ${advice}`;
  return new TokenglassError('model-too-large', message, {
    details: { ...details, ...(smaller !== undefined && { smallerModel: smaller }) },
  });
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
