/** Part of a file of a model. */
export interface OpenedFile {
  /** Bytes of the whole file; absent if the host does not say. */
  totalBytes?: number;
  /** The host's name of this version of the file (HTTP `ETag`, with its quotes); absent if it gives none. */
  etag?: string;
  /** SHA-256 of the whole file, 64 lower-case hexadecimal digits; absent if the host does not tell it. */
  sha256?: string;
  /** Offset of the first byte of `stream`, where it is not the one asked for: 0 if `ifRange` no longer holds. */
  start?: number;
  /** The bytes asked for, from the first to the last. */
  stream: ReadableStream<Uint8Array>;
}

/** Which part of a file to open, and how. */
export interface OpenOptions {
  /** First byte. @default 0 */
  start?: number;
  /** Where to end, exclusive. @default the end of the file */
  end?: number;
  /** ETag of the version that `start` is an offset of; a host that has another one by now answers with the whole file. */
  ifRange?: string;
  /** As for `fetch`. @default that of `fetch` */
  cache?: RequestCache;
  signal?: AbortSignal;
}

/** Where model files come from: built-in, URL, Hub, dropped files, or a store in front of any of these. */
export interface ModelSource {
  /** What people call it: `tutor`, a Hub id, a URL, a file name. */
  readonly id: string;
  readonly kind: 'built-in' | 'url' | 'hub' | 'file';
  /** The branch, tag or commit that it takes its files from; absent if it knows none. */
  readonly revision?: string;

  /**
   * Opens `path` (relative to the source, `/`-separated).
   * @throws TokenglassError `model-not-found`, `network`
   */
  open(path: string, options?: OpenOptions): Promise<OpenedFile>;
}
