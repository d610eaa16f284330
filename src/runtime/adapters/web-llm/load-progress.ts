import type { LoadProgress, LoadWarning } from '../../../shared/info.ts';
import type { MlcModelRecord, MlcProgress } from './library.ts';

const MEBIBYTE = 2 ** 20;

/**
 * Progress of the library, told in sentences, as ours. It rounds bytes up to MiB and gives their share of the whole exactly: each report
 * bounds the whole from above, and the least bound is taken.
 */
export class MlcProgressReader {
  readonly #warning: LoadWarning | undefined;
  #totalBytes = Infinity;
  #isFetching = false;

  constructor({ model_lib: lib }: Pick<MlcModelRecord, 'model_lib'>) {
    if (lib.includes('localhost')) this.#warning = { code: 'not-saved', message: UNSAVED };
  }

  /** @returns what to tell; nothing for a report that has no news */
  read({ progress, text }: MlcProgress): LoadProgress | undefined {
    const [, megabytes, verb] = /: (\d+)MB (fetched|loaded)/.exec(text) ?? [];
    if (verb !== undefined) return this.#ofWeights(progress, Number(megabytes) * MEBIBYTE, verb === 'fetched');
    if (text.startsWith('Start to fetch')) return this.#tell('download', 0, 'Looking for the weights');
    const share = `${Math.floor(progress * 100)} %`;
    if (text.startsWith('Loading GPU shader'))
      return this.#tell('compile', this.#wholeBytes, `Compiling shaders, ${share}`);
    return undefined;
  }

  /** Once the model is loaded. */
  ready(): LoadProgress {
    return this.#tell('ready', this.#wholeBytes, 'Ready');
  }

  #ofWeights(share: number, roundedBytes: number, isFetched: boolean): LoadProgress {
    this.#isFetching ||= isFetched;
    if (share > 0) this.#totalBytes = Math.min(this.#totalBytes, roundedBytes / share);
    const bytes = Math.min(Math.round(share * this.#wholeBytes), this.#wholeBytes);
    if (isFetched) return this.#tell('download', bytes, 'Downloading the weights');
    // After a download it reads them again, onto the GPU: the bytes have been counted.
    if (this.#isFetching)
      return this.#tell('compile', this.#wholeBytes, `Copying the weights to the GPU, ${Math.floor(share * 100)} %`);
    return { ...this.#tell('download', bytes, 'Reading the weights from this device'), storedBytes: bytes };
  }

  get #wholeBytes(): number {
    return this.#totalBytes === Infinity ? 0 : Math.round(this.#totalBytes);
  }

  #tell(phase: LoadProgress['phase'], loadedBytes: number, label: string): LoadProgress {
    return {
      phase,
      loadedBytes,
      ...(this.#totalBytes < Infinity && { totalBytes: this.#wholeBytes }),
      label,
      ...(this.#warning && { warning: this.#warning }),
    };
  }
}

const UNSAVED =
  'The compiled model comes from localhost, which web-llm never keeps: it is fetched anew with every load. Serve it from 127.0.0.1 to have it kept.';
