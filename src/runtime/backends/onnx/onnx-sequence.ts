import { TokenglassError } from '../../../shared/errors.ts';
import type { SequenceOptions } from '../backend.ts';
import { TokenCounts } from '../sampling/token-counts.ts';
import type { KvTensors } from './kv-tensors.ts';

/** A sequence of the backend: what is planned (steps in flight included) and what has been computed. */
export class OnnxSequence {
  readonly options: SequenceOptions;
  /** Tokens with KV, counted as soon as a step is given. */
  plannedLength = 0;
  /** KV that was computed; may be longer than `tokens` after a truncation. */
  kv: KvTensors = [];
  /** Tokens that were computed. */
  readonly tokens = new TokenCounts();
  /** The latest sampled token. */
  sampled: number | undefined;

  constructor(options: SequenceOptions) {
    this.options = options;
  }

  append(token: number, isPrompt: boolean): void {
    this.tokens.append(token, isPrompt);
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
