import { sameIds, type BlockKey } from './block-names.ts';
import { checksum } from './hash.ts';

/** Version of the layout of records; one of another version is dropped. */
export const RECORD_VERSION = 1;

/** What is stored about a block; its bytes are a value of their own, so that looking through records reads no KV. */
export interface BlockRecord {
  version: typeof RECORD_VERSION;
  /** Model fingerprint, quantisation, architecture, precision and layout of the KV. */
  scope: string;
  /** Random. What follows this block names it, which proves that the KV there was computed after this very record's tokens. */
  id: string;
  /** Id of the record before; empty for the first block. */
  parentId: string;
  ids: Uint32Array<ArrayBuffer>;
  /** Place in its chain, from 0. */
  index: number;
  bytes: number;
  /** Of the KV bytes. */
  checksum: number;
  usedAtMs: number;
}

export interface NewRecord {
  scope: string;
  parentId: string;
  key: BlockKey;
  index: number;
  data: Uint8Array;
  usedAtMs: number;
}

export function createRecord({ scope, parentId, key, index, data, usedAtMs }: NewRecord): BlockRecord {
  const random = crypto.getRandomValues(new Uint32Array(4));
  return {
    version: RECORD_VERSION,
    scope,
    id: Array.from(random, (word) => word.toString(16).padStart(8, '0')).join(''),
    parentId,
    ids: key.ids,
    index,
    bytes: data.byteLength,
    checksum: checksum(data),
    usedAtMs,
  };
}

/** What a record is good for. `other`: well-formed, but of other tokens (a name collided); `broken`: of no use to anybody. */
export type RecordVerdict = 'right' | 'other' | 'broken';

/** Judges what was found under the name of a block. */
export function judgeRecord(
  record: unknown,
  expected: { scope: string; parentId: string; key: BlockKey; blockBytes: number; stateBytes?: number },
): RecordVerdict {
  const { blockBytes, stateBytes = 0 } = expected;
  if (!isRecord(record) || record.scope !== expected.scope) return 'broken';
  if (record.bytes !== blockBytes && record.bytes !== blockBytes + stateBytes) return 'broken';
  if (!sameIds(record.ids, expected.key.ids)) return 'other';
  // What it followed has been replaced, or dropped and stored anew.
  return record.parentId === expected.parentId ? 'right' : 'broken';
}

/** True for bytes that are what the record says. */
export function isIntact(record: BlockRecord, data: unknown): data is Uint8Array<ArrayBuffer> {
  return data instanceof Uint8Array && data.byteLength === record.bytes && checksum(data) === record.checksum;
}

/** Rows come from a disk, of this or of another version of this library: nothing about them is certain. */
export function isRecord(value: unknown): value is BlockRecord {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Partial<Record<keyof BlockRecord, unknown>>;
  return (
    record.version === RECORD_VERSION &&
    typeof record.scope === 'string' &&
    typeof record.id === 'string' &&
    typeof record.parentId === 'string' &&
    record.ids instanceof Uint32Array &&
    typeof record.index === 'number' &&
    typeof record.bytes === 'number' &&
    typeof record.checksum === 'number' &&
    typeof record.usedAtMs === 'number'
  );
}
