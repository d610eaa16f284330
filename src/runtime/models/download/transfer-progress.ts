import type { Clock } from '../../../shared/clock.ts';
import type { LoadProgress, LoadWarning } from '../../../shared/info.ts';

/** Where the bytes of one file are counted. */
export interface FileProgress {
  setTotal(bytes: number | undefined): void;
  /** Bytes that have come from the store or from the network. */
  add(bytes: number, from: 'store' | 'network'): void;
  /** The file is not there after all. */
  drop(): void;
}

export interface TransferProgressOptions {
  /** What people call the model. */
  id: string;
  clock: Clock;
  onProgress: (progress: LoadProgress) => void;
}

/** Told at most every so many bytes: a fast transfer comes in thousands of pieces. */
const STEP_BYTES = 2 ** 18;

/** Adds up the files of a model that are loaded at the same time, or one after another, to one progress. */
export class TransferProgress {
  readonly #options: TransferProgressOptions;
  readonly #files = new Set<{ loadedBytes: number; totalBytes?: number }>();
  readonly #rate: TransferRate;
  #storedBytes = 0;
  #toldBytes = -Infinity;
  #warning: LoadWarning | undefined;

  constructor(options: TransferProgressOptions) {
    this.#options = options;
    this.#rate = new TransferRate(options.clock);
  }

  startFile(): FileProgress {
    const file: { loadedBytes: number; totalBytes?: number } = { loadedBytes: 0 };
    this.#files.add(file);
    return {
      setTotal: (bytes) => {
        if (bytes !== undefined) file.totalBytes = bytes;
      },
      add: (bytes, from) => {
        file.loadedBytes += bytes;
        if (from === 'store') this.#storedBytes += bytes;
        else this.#rate.add(bytes);
        if (file.loadedBytes === file.totalBytes) this.#toldBytes = -Infinity;
        this.#tell();
      },
      drop: () => this.#files.delete(file),
    };
  }

  warn(warning: LoadWarning): void {
    this.#warning = warning;
    this.#tell(true);
  }

  /** Says something else than that the model is being loaded. */
  say(label: string): void {
    this.#options.onProgress({ ...this.#snapshot(), label });
  }

  #tell(always = false): void {
    const progress = this.#snapshot();
    if (!always && progress.loadedBytes < this.#toldBytes + STEP_BYTES) return;
    this.#toldBytes = progress.loadedBytes;
    this.#options.onProgress(progress);
  }

  #snapshot(): LoadProgress {
    const files = [...this.#files];
    const loadedBytes = files.reduce((sum, file) => sum + file.loadedBytes, 0);
    const isKnown = files.every(({ totalBytes }) => totalBytes !== undefined);
    const totalBytes = isKnown ? files.reduce((sum, file) => sum + file.totalBytes!, 0) : undefined;
    const bytesPerSecond = this.#rate.bytesPerSecond();
    return {
      phase: 'download',
      loadedBytes,
      storedBytes: this.#storedBytes,
      label: `Loading ${this.#options.id}`,
      ...(totalBytes !== undefined && { totalBytes }),
      ...(bytesPerSecond !== undefined && { bytesPerSecond }),
      ...(bytesPerSecond !== undefined &&
        totalBytes !== undefined && { secondsLeft: (totalBytes - loadedBytes) / bytesPerSecond }),
      ...(this.#warning && { warning: this.#warning }),
    };
  }
}

/** Bytes per second over a sliding window. */
export class TransferRate {
  readonly #clock: Clock;
  /** Bytes up to each point of time, oldest first. */
  #samples: { atMs: number; bytes: number }[] = [];
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(bytes: number): void {
    const atMs = this.#clock.now();
    if (this.#samples.length === 0) this.#samples.push({ atMs, bytes: 0 });
    this.#bytes += bytes;
    const last = this.#samples.at(-1)!;
    if (atMs - last.atMs < SAMPLE_MS) return;
    this.#samples.push({ atMs, bytes: this.#bytes });
    this.#samples = this.#samples.filter((sample) => atMs - sample.atMs <= WINDOW_MS);
  }

  /** Undefined for the first half second, and once nothing has come for a whole window. */
  bytesPerSecond(): number | undefined {
    const first = this.#samples[0];
    if (!first) return undefined;
    const elapsedMs = this.#clock.now() - first.atMs;
    if (elapsedMs < 500 || elapsedMs > 2 * WINDOW_MS || this.#bytes === first.bytes) return undefined;
    return ((this.#bytes - first.bytes) / elapsedMs) * 1000;
  }
}

const SAMPLE_MS = 100;
const WINDOW_MS = 8000;
