import { randomId } from '../../shared/random-id.ts';
import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { LoadProgress, LoadWarning } from '../../shared/info.ts';
import { ChunkWriter } from './download/chunk-writer.ts';
import { checksumOf } from './download/digest.ts';
import { fetchPart } from './download/fetch-part.ts';
import { openLively } from './download/open-lively.ts';
import { openResumable, type ResumableFile } from './download/resumable-file.ts';
import { DEFAULT_RETRY, type RetryPolicy } from './download/retry.ts';
import { streamFrom } from './download/stream-from.ts';
import { TransferProgress, type FileProgress } from './download/transfer-progress.ts';
import { verifiedPieces } from './download/verified-pieces.ts';
import type { ModelSource, OpenedFile, OpenOptions } from './source.ts';
import { notSavedWarning } from './store/not-saved.ts';
import type { ModelStore } from './store/model-store.ts';
import type { FileRow, StoredVersion } from './store/rows.ts';
import { readChunks } from './store/stored-chunks.ts';
import { isSameVersion } from './url-source.ts';

export interface StoredSourceOptions {
  store: ModelStore;
  /** All files of the source as one progress, with rate and time left. */
  onProgress?: (progress: LoadProgress) => void;
  /** Ends what is being downloaded. What was stored stays, for the next load to go on from. */
  signal?: AbortSignal;
  /** Ask the host whether files that are stored have changed. Without a network, what is stored is used. @default false */
  update?: boolean;
  /** Where a file does not fit on the disk: run it without saving it, or throw `storage-full`. @default 'run' */
  whenFull?: 'run' | 'throw';
  /** Called when the size of a file is known and nothing of its body was read; throws to end the load there. */
  beforeDownload?: (file: { path: string; totalBytes?: number }) => void | Promise<void>;
  retry?: Partial<RetryPolicy>;
}

/** How long a host's "there is no such file" is believed without asking again. */
const ABSENT_MS = 24 * 3600 * 1000;

/**
 * Puts the weight store in front of a source: `open` reads what is stored, downloads the rest, stores it on the way and verifies it. Built-in
 * and dropped files are passed through, since they are on the device anyway.
 *
 * Bytes are handed on as they come; the last ones only after length and digest of the whole were found right, so that a reader who sees the
 * end of the stream has seen the right file.
 *
 * `open` throws TokenglassError `model-not-found`, `model-invalid`, `network`, `storage-full` (only with `whenFull: 'throw'`), and what
 * `beforeDownload` throws.
 */
export function storedSource(source: ModelSource, options: StoredSourceOptions): ModelSource {
  if (source.kind === 'built-in' || source.kind === 'file') return source;
  const files = new StoredFiles(source, options);
  return {
    id: source.id,
    kind: source.kind,
    ...(source.revision !== undefined && { revision: source.revision }),
    open: (path, open = {}) => files.open(path, open),
  };
}

/** One open file: what it holds while it is read. */
interface Session {
  path: string;
  signal: AbortSignal;
  progress: FileProgress;
  /** Releases the locks; once more is harmless, as with the others. */
  release: () => void;
  /** Releases the locks and ends the transfer. */
  end: () => void;
  /** Ends the turn of this tab; others may look at the file. */
  releaseFile: () => void;
}

class StoredFiles {
  readonly #source: ModelSource;
  readonly #options: StoredSourceOptions;
  readonly #store: ModelStore['internals'];
  readonly #progress: TransferProgress;
  readonly #retry: RetryPolicy;

  constructor(source: ModelSource, options: StoredSourceOptions) {
    this.#source = source;
    this.#options = options;
    this.#store = options.store.internals;
    this.#retry = { ...DEFAULT_RETRY, ...options.retry };
    this.#progress = new TransferProgress({
      id: source.id,
      clock: this.#store.clock,
      onProgress: options.onProgress ?? (() => undefined),
    });
  }

  async open(path: string, { start = 0, end, signal }: OpenOptions): Promise<OpenedFile> {
    const session = await this.#begin(path, signal);
    try {
      const row = await this.#row(path);
      const isPart = start > 0 || end !== undefined;
      if (row !== 'broken' && row?.complete && this.#isCurrent(row.complete))
        return await this.#serve(session, row.complete, { start, end });
      if (isPart) {
        // A part of what is not stored is not worth storing.
        session.end();
        session.progress.drop();
        const both = [signal, this.#options.signal].filter((each) => each !== undefined);
        const part = { start, ...(end !== undefined && { end }) };
        const ends = both.length > 0 && { signal: AbortSignal.any(both) };
        return await openLively(this.#source, path, { ...part, ...ends }, this.#retry);
      }
      await this.#refuseAbsent(path, row);
      return await this.#download(session, row);
    } catch (error) {
      session.end();
      session.progress.drop();
      throw error;
    }
  }

  async #begin(path: string, signal: AbortSignal | undefined): Promise<Session> {
    const ended = new AbortController();
    const signals = [ended.signal, signal, this.#options.signal].filter((each) => each !== undefined);
    const all = AbortSignal.any(signals);
    const onWait = (): void => this.#progress.say(`Waiting for another tab that is loading ${this.#source.id}`);
    const file = await this.#store.lockFile(this.#source.id, path, { signal: all, onWait });
    const use = await this.#store.markInUse(this.#source.id);
    const release = (): void => {
      file.release();
      use.release();
    };
    const end = (): void => {
      all.removeEventListener('abort', end);
      ended.abort();
      release();
    };
    all.addEventListener('abort', end);
    const progress = this.#progress.startFile();
    return { path, signal: all, progress, release, end, releaseFile: () => file.release() };
  }

  /** What is known of the file; `broken` if the store cannot be read. */
  async #row(path: string): Promise<FileRow | undefined | 'broken'> {
    try {
      return await this.#store.database.getFile(this.#source.id, path);
    } catch (error) {
      this.#progress.warn(notSavedWarning(error));
      return 'broken';
    }
  }

  #isCurrent({ revision }: StoredVersion): boolean {
    return this.#options.update !== true && revision === this.#source.revision;
  }

  /** Optional files that a model does not have are not asked for at each load, nor missed without a network. */
  async #refuseAbsent(path: string, row: FileRow | undefined | 'broken'): Promise<void> {
    if (row === 'broken' || row?.absentAtMs === undefined || this.#options.update === true) return;
    if (this.#store.clock.now() - row.absentAtMs > ABSENT_MS) return;
    const others = await this.#store.database.listFiles(this.#source.id);
    if (others.some(({ complete }) => complete)) throw absent(this.#source.id, path);
  }

  async #download(session: Session, row: FileRow | undefined | 'broken'): Promise<OpenedFile> {
    const { path, signal } = session;
    const known = row === 'broken' ? undefined : row;
    const { complete } = known ?? {};
    const partial = isResumable(known?.partial) ? known?.partial : undefined;
    let file: ResumableFile;
    try {
      file = await openResumable(this.#source, path, {
        signal,
        retry: complete ? { ...this.#retry, maxFailures: 1 } : this.#retry,
        ...(partial && { start: partial.storedBytes, etag: partial.etag, sha256: partial.sha256 }),
      });
    } catch (error) {
      return await this.#withoutHost(session, row, error);
    }
    try {
      if (complete && isSameFile(file, complete)) {
        file.cancel();
        const same = { ...complete, ...(this.#source.revision !== undefined && { revision: this.#source.revision }) };
        const { partial: dropped, ...rest } = known!;
        await this.#store.database
          .write({ row: { ...rest, complete: same }, ...(dropped && { dropVersions: [dropped.id] }) })
          .catch(() => undefined);
        return await this.#serve(session, same, {});
      }
      const { totalBytes } = file;
      await this.#options.beforeDownload?.({ path, ...(totalBytes !== undefined && { totalBytes }) });
      const resumed = file.start > 0 ? partial : undefined;
      const canSave = row !== 'broken' && (await this.#hasRoom(file, session));
      const version = resumed ?? this.#newVersion(file);
      const writer = canSave ? this.#writer(session, known, version) : undefined;
      return this.#stream(session, file, resumed, writer);
    } catch (error) {
      file.cancel();
      throw error;
    }
  }

  /** The host cannot be reached, or has no such file. */
  async #withoutHost(session: Session, row: FileRow | undefined | 'broken', error: unknown): Promise<OpenedFile> {
    if (row === 'broken') throw error;
    if (isTokenglassError(error, 'network')) {
      if (row?.complete) return this.#serve(session, row.complete, {});
      if (row?.absentAtMs !== undefined) throw absent(this.#source.id, session.path);
    }
    const status = isTokenglassError(error, 'model-not-found') ? error.details['status'] : undefined;
    // A page instead of the file may be that of a hotel's network; only this answer is a clear one.
    if ((status === 404 || status === 410) && !row?.complete) {
      const nowMs = this.#store.clock.now();
      const gone: FileRow = { model: this.#source.id, path: session.path, usedAtMs: nowMs, absentAtMs: nowMs };
      const dropVersions = row?.partial ? [row.partial.id] : [];
      await this.#store.database.write({ row: gone, dropVersions }).catch(() => undefined);
    }
    throw error;
  }

  async #hasRoom({ totalBytes, start }: ResumableFile, session: Session): Promise<boolean> {
    const availableBytes = await this.#store.space.availableBytes();
    if (totalBytes === undefined || availableBytes === undefined) return true;
    const neededBytes = totalBytes - start;
    if (neededBytes <= availableBytes) return true;
    const full = storageFull(this.#source.id, neededBytes, availableBytes);
    if (this.#options.whenFull === 'throw') throw full;
    this.#warn(notSavedWarning(full), session);
    return false;
  }

  #newVersion({ etag, sha256, totalBytes }: ResumableFile): StoredVersion {
    const { revision } = this.#source;
    return {
      id: randomId(),
      chunkBytes: this.#store.chunkBytes,
      storedBytes: 0,
      checksums: [],
      ...(etag !== undefined && { etag }),
      ...(sha256 !== undefined && { sha256 }),
      ...(totalBytes !== undefined && { totalBytes }),
      ...(revision !== undefined && { revision }),
    };
  }

  #writer(session: Session, row: FileRow | undefined, version: StoredVersion): ChunkWriter {
    const { database, clock } = this.#store;
    void this.#options.store.persist();
    return new ChunkWriter({
      database,
      row,
      model: this.#source.id,
      path: session.path,
      version,
      now: () => clock.now(),
      onFailed: (error) => this.#warn(notSavedWarning(error), session),
    });
  }

  #warn(warning: LoadWarning, session: Session): void {
    // What is not saved is of no use to a tab that waits for it.
    session.releaseFile();
    this.#progress.warn(warning);
  }

  #stream(
    session: Session,
    file: ResumableFile,
    resumed: StoredVersion | undefined,
    writer: ChunkWriter | undefined,
  ): OpenedFile {
    const { path, progress } = session;
    progress.setTotal(file.totalBytes);
    const pieces = verifiedPieces({
      path,
      file,
      stored: resumed && this.#chunks(session, resumed, {}),
      writer,
      onPiece: (bytes, from) => progress.add(bytes, from),
      // Who knows the size may stop reading without having seen the end of the stream.
      onVerified: session.release,
    });
    return opened(
      file,
      streamFrom(pieces, session.signal, () => {
        file.cancel();
        session.end();
      }),
    );
  }

  async #serve(
    session: Session,
    version: StoredVersion,
    part: { start?: number; end?: number | undefined },
  ): Promise<OpenedFile> {
    session.releaseFile();
    const { database, clock } = this.#store;
    await database.touchFile(this.#source.id, session.path, clock.now()).catch(() => undefined);
    const { progress } = session;
    progress.setTotal((part.end ?? version.storedBytes) - (part.start ?? 0));
    const chunks = this.#chunks(session, version, part);
    let left = (part.end ?? version.storedBytes) - (part.start ?? 0);
    async function* counted(): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of chunks) {
        left -= chunk.length;
        if (left <= 0) session.release();
        progress.add(chunk.length, 'store');
        yield chunk;
      }
    }
    return opened({ ...version, totalBytes: version.storedBytes }, streamFrom(counted(), session.signal, session.end));
  }

  #chunks(
    { path, signal }: Session,
    version: StoredVersion,
    { start, end }: { start?: number; end?: number | undefined },
  ): AsyncGenerator<Uint8Array, void> {
    return readChunks({
      database: this.#store.database,
      version,
      checksum: checksumOf,
      refetch: (from, to) =>
        fetchPart(this.#source, path, { start: from, end: to, etag: version.etag, signal, retry: this.#retry }),
      ...(start !== undefined && { start }),
      ...(end !== undefined && { end }),
    });
  }
}

function opened(facts: Pick<OpenedFile, 'totalBytes' | 'etag' | 'sha256'>, stream: OpenedFile['stream']): OpenedFile {
  const { totalBytes, etag, sha256 } = facts;
  return {
    stream,
    ...(totalBytes !== undefined && { totalBytes }),
    ...(etag !== undefined && { etag }),
    ...(sha256 !== undefined && { sha256 }),
  };
}

/** Without a name of the version, nothing says that the rest would be of the same one. */
function isResumable(partial: StoredVersion | undefined): boolean {
  return partial !== undefined && (partial.etag !== undefined || partial.sha256 !== undefined);
}

function isSameFile(file: ResumableFile, stored: StoredVersion): boolean {
  if (file.totalBytes !== undefined && file.totalBytes !== stored.storedBytes) return false;
  if (file.sha256 !== undefined && stored.sha256 !== undefined) return file.sha256 === stored.sha256;
  return isSameVersion(file.etag, stored.etag);
}

function absent(model: string, path: string): TokenglassError {
  const message = `Cannot load ${path} of ${model}: there is no such file; check the name of the model`;
  return new TokenglassError('model-not-found', message, { details: { path } });
}

function storageFull(model: string, neededBytes: number, availableBytes: number): TokenglassError {
  const message = `Cannot save ${model}: it needs ${neededBytes} bytes and ${availableBytes} are available; delete other models, or run it without saving`;
  return new TokenglassError('storage-full', message, { details: { neededBytes, availableBytes } });
}
