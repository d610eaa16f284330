/**
 * One version of one file, whole or in part, cut into chunks of equal size. The chunks lie in rows of their own, named
 * `[id, index]`.
 */
export interface StoredVersion {
  id: string;
  /** The host's name of this version; absent if it gave none. */
  etag?: string;
  /** SHA-256 of the whole file: what the host said, or, once complete, what was computed. */
  sha256?: string;
  /** Revision of the source that it was loaded from. */
  revision?: string;
  /** Bytes of the whole file; absent while unknown. */
  totalBytes?: number;
  /** Bytes of each chunk but the last. */
  chunkBytes: number;
  /** Bytes in all chunks that are stored. */
  storedBytes: number;
  /** One for each chunk that is stored, in order. */
  checksums: readonly string[];
}

/** What is known of one file of a model. */
export interface FileRow {
  /** Id of the source. */
  model: string;
  path: string;
  /** What loads are served from. */
  complete?: StoredVersion;
  /** What is being downloaded, or was when the download broke off. */
  partial?: StoredVersion;
  /** When the host said that there is no such file; absent if there is one. */
  absentAtMs?: number;
  /** When it was last loaded or written (Unix epoch). */
  usedAtMs: number;
}

/** A load that has begun and not ended. */
export interface LoadingRow {
  id: string;
  model: string;
  startedAtMs: number;
  /** Of its weights; absent while they are not known. */
  bytes?: number;
}

/** Changes that happen all together or not at all. */
export interface WriteBatch {
  row: FileRow;
  /** Only if the stored row still holds this version in part; otherwise nothing is written. */
  requiresPartial?: string;
  chunk?: { version: string; index: number; bytes: Uint8Array };
  /** Versions whose chunks go. */
  dropVersions?: readonly string[];
  /** Wait until it is on the disk. @default false */
  isDurable?: boolean;
}
