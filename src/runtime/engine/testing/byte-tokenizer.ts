import type { ChatMessage, ChatRole } from '../../../shared/generation.ts';
import type { Tokenizer } from '../../text/tokenizer.ts';

/** One token a byte (ids 0 to 255), and a few control tokens. */
export const BOS_ID = 256;
export const END_ID = 257;
const ROLE_IDS: Readonly<Record<ChatRole, number>> = {
  system: 258,
  developer: 259,
  user: 260,
  assistant: 261,
  tool: 262,
};
export const BYTE_VOCAB_SIZE = 263;

const CONTROL_TEXT: ReadonlyMap<string, number> = new Map([
  ['<bos>', BOS_ID],
  ['<end>', END_ID],
  ...Object.entries(ROLE_IDS).map(([role, id]) => [`<${role}>`, id] as const),
]);

export const byteTokenizer: Tokenizer = {
  vocabSize: BYTE_VOCAB_SIZE,
  bosId: BOS_ID,
  addBos: true,
  endIds: [END_ID],
  stripsLeadingSpace: false,
  encode(text, parseControl = false) {
    if (!parseControl) return bytesOf(text);
    return text.split(/(<[a-z]+>)/).flatMap((piece) => CONTROL_TEXT.get(piece) ?? bytesOf(piece));
  },
  tokenBytes: (id) => (id < 256 ? Uint8Array.of(id) : new Uint8Array()),
  isControl: (id) => id >= 256,
};

/** What a chat template and tokenizer would do: BOS, then each turn between its marker and the end token, then the cue to answer. */
export function encodeBytePrompt(input: { messages: readonly ChatMessage[] } | { prompt: string }): number[] {
  if ('prompt' in input) return [BOS_ID, ...bytesOf(input.prompt)];
  const turns = input.messages.flatMap(({ role, content }) => [ROLE_IDS[role], ...bytesOf(content), END_ID]);
  return [BOS_ID, ...turns, ROLE_IDS.assistant];
}

export const bytesOf = (text: string): number[] => [...new TextEncoder().encode(text)];
