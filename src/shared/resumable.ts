import type { ChatMessage } from './generation.ts';

/** An answer that was cut short by a reload, a crash or a lost device, and that this engine's model can go on with. */
export interface ResumableAnswer {
  id: string;
  /** The chat that it answers; absent for a raw prompt. */
  messages?: readonly ChatMessage[];
  /** The raw prompt that it goes on from; absent for a chat or for token ids. */
  prompt?: string;
  /** What there was of it when it was last written down. */
  text: string;
  outputTokens: number;
  /** When it was last written down, milliseconds since the epoch. */
  atMs: number;
}
