import { TokenglassError } from '../../../shared/errors.ts';
import type { SequenceOptions } from '../backend.ts';
import { TokenCounts } from '../sampling/token-counts.ts';
import type { KvRow } from './kv-batch.ts';

/** A sequence of the backend: what is planned (steps in flight included) and what has been computed. */
export class OnnxSequence {
  readonly options: SequenceOptions;
  /** Tokens with KV, counted as soon as a step is given. */
  plannedLength = 0;
  /** Tokens that KV is set aside for. */
  reservedLength = 0;
  /** Tokens that were computed. */
  readonly tokens = new TokenCounts();
  /** The latest sampled token. */
  sampled: number | undefined;
  #kv: KvRow | undefined;

  constructor(options: SequenceOptions) {
    this.options = options;
  }

  /** KV that was computed; its row may hold more than `tokens` after a truncation. */
  get kv(): KvRow | undefined {
    return this.#kv;
  }

  /** Lets go of the KV before, whose batch is freed with the last sequence in it. */
  set kv(kv: KvRow | undefined) {
    kv?.batch.retain();
    this.#kv?.batch.release();
    this.#kv = kv;
  }

  truncate(length: number): void {
    if (length < this.tokens.length) this.tokens.truncate(length);
  }

  /** @throws TokenglassError `internal` if no step has sampled one */
  previousToken(): number {
    if (this.sampled !== undefined) return this.sampled;
    const message = 'Cannot run a step: its input is the previous token, and no step has sampled one';
    throw new TokenglassError('internal', message);
  }
}
