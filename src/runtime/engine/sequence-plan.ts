import type { SequenceOptions } from '../backends/backend.ts';
import type { GrammarState } from '../text/grammar/grammar.ts';
import type { OutputText } from './output-text.ts';
import type { SequenceDrafts } from './speculation/sequence-drafts.ts';

/** What a sequence needs to run, known once its prompt is tokenized. */
export interface SequencePlan {
  promptTokens: readonly number[];
  /** Output tokens of an answer that was cut short, which this one goes on with; they are computed like a prompt. @default none */
  resumed?: { tokens: readonly number[]; text: string };
  /** At least 1; the context is already considered. */
  maxTokens: number;
  /** Ids that end the answer. */
  stopIds: ReadonlySet<number>;
  options: SequenceOptions;
  text: OutputText;
  /** What the answer has to keep to; disposed of with the sequence. */
  grammar?: GrammarState;
  /** Bytes of a token, a copy; absent where nobody asked for them. */
  tokenBytes?: (id: number) => Uint8Array;
  /** See the `start` event. */
  promptTail?: string;
  /** Where tokens to come are looked up; absent where nothing is to be drafted. Not with a grammar, whose masks need one token at a time. */
  drafts?: SequenceDrafts;
  /** Called once the sequence runs: takes down its tokens, so that it can be gone on with. */
  journal?: () => { token(id: number): void; end(how: 'done' | 'cut'): void };
}
