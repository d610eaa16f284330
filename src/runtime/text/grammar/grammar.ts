import type { OutputGrammar } from '../../../shared/generation.ts';

/** What one answer may go on with, token by token. */
export interface GrammarState {
  /** What may come next: bit `id & 31` of word `id >> 5`, 0 bans. End tokens are allowed where the answer may end. */
  mask(): Promise<Uint32Array<ArrayBuffer>>;
  /** Takes a token. @returns false for one that the grammar bans */
  accept(id: number): boolean;
  /** Nothing may follow. */
  readonly isDone: boolean;
  /** Gives memory back; twice is safe. */
  dispose(): void;
}

/** Makes the state of a new answer. @throws TokenglassError `invalid-request`, `unsupported` with `details.field` "grammar" */
export type CompileGrammar = (grammar: OutputGrammar) => Promise<GrammarState>;
