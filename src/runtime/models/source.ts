/** Part of a file of a model. */
export interface OpenedFile {
  /** Bytes of the whole file; absent if the host does not say. */
  totalBytes?: number;
  /** The host's name of this version of the file (HTTP `ETag`, with its quotes); absent if it gives none. */
  etag?: string;
  /** The bytes asked for, from the first to the last. */
  stream: ReadableStream<Uint8Array>;
}

/** Where model files come from: built-in, URL, Hub, dropped files, or a store in front of any of these. */
export interface ModelSource {
  /** What people call it: `tutor`, a Hub id, a URL, a file name. */
  readonly id: string;
  readonly kind: 'built-in' | 'url' | 'hub' | 'file';

  /**
   * Opens `path` (relative to the source, `/`-separated), from `start` (default 0) to before `end` (default: the end of the file).
   * @throws TokenglassError `model-not-found`, `network`
   */
  open(path: string, options?: { start?: number; end?: number; signal?: AbortSignal }): Promise<OpenedFile>;
}
