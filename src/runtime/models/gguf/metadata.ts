import { invalid } from './header-cursor.ts';
import type { GgufMetadata, GgufValue } from './header.ts';

/**
 * Typed access to metadata. `get...` without a fallback throws `model-invalid` when the key is missing; every one of them throws it
 * when the value has another type. `find...` gives undefined for a missing key.
 */

/** A number; a 64-bit integer beyond 2^53 is refused. */
export function findNumber(metadata: GgufMetadata, key: string): number | undefined {
  const value = metadata.get(key);
  if (value === undefined || typeof value === 'number') return value;
  throw wrongType(key, 'number');
}

export function getNumber(metadata: GgufMetadata, key: string, fallback?: number): number {
  return findNumber(metadata, key) ?? fallback ?? missing(key);
}

/** An integer from `least` (default 0) to `most` (default 2^31 - 1). */
export function getInteger(
  metadata: GgufMetadata,
  key: string,
  { fallback, least = 0, most = 2 ** 31 - 1 }: { fallback?: number; least?: number; most?: number } = {},
): number {
  const value = getNumber(metadata, key, fallback);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(`the metadata "${key}" is ${value}, and must be an integer from ${least} to ${most}`);
}

export function findString(metadata: GgufMetadata, key: string): string | undefined {
  const value = metadata.get(key);
  if (value === undefined || typeof value === 'string') return value;
  throw wrongType(key, 'string');
}

export function getString(metadata: GgufMetadata, key: string, fallback?: string): string {
  return findString(metadata, key) ?? fallback ?? missing(key);
}

export function findStrings(metadata: GgufMetadata, key: string): readonly string[] | undefined {
  const value = metadata.get(key);
  if (value === undefined) return undefined;
  if (isStrings(value)) return value;
  throw wrongType(key, 'array of strings');
}

/** An empty array of the file has lost its element type here and is an array of anything. */
function isStrings(value: GgufValue): value is readonly string[] {
  return Array.isArray(value) && (value.length === 0 || typeof value[0] === 'string');
}


function wrongType(key: string, expected: string): Error {
  return invalid(`the metadata "${key}" is no ${expected}`);
}

function missing(key: string): never {
  throw invalid(`the metadata "${key}" is missing`);
}
