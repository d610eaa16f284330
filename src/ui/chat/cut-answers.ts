import type { ChatMessage } from '../../shared/generation.ts';
import type { ResumableAnswer } from '../../shared/resumable.ts';
import type { Engine } from '../../runtime/request/engine.ts';

/** An answer of a chat that was cut short, with the conversation that it is the end of. */
export interface CutAnswer {
  id: string;
  /** When it was last written down, milliseconds since the epoch. */
  atMs: number;
  /** Questions with their answers, oldest first; the last answer is the one that was cut. */
  turns: readonly { question: string; answer: string }[];
}

/** Answers that the engine can go on with and that a chat with this system prompt could have asked for, latest first. */
export async function findCutAnswers(engine: Engine, systemPrompt: string): Promise<CutAnswer[]> {
  // Whatever fails here is a comfort lost, no more: the engine may be gone by now.
  const answers = (await engine.resumable?.().catch(() => undefined)) ?? [];
  return answers.flatMap((answer) => asChat(answer, systemPrompt) ?? []);
}

/** Undefined for what is no chat, or one with another system prompt: another element or program has asked for it. */
function asChat({ id, atMs, text, messages = [] }: ResumableAnswer, systemPrompt: string): CutAnswer | undefined {
  const [first] = messages;
  const system = first?.role === 'system' ? first.content : '';
  const turns = asTurns(first?.role === 'system' ? messages.slice(1) : messages, text);
  return system === systemPrompt && turns ? { id, atMs, turns } : undefined;
}

/** Questions and answers by turns, a question last; undefined for any other order. */
function asTurns(messages: readonly ChatMessage[], lastAnswer: string): CutAnswer['turns'] | undefined {
  if (messages.length % 2 === 0) return undefined;
  const isChat = messages.every(({ role, templateFields }, index) => {
    return role === (index % 2 === 0 ? 'user' : 'assistant') && templateFields === undefined;
  });
  if (!isChat) return undefined;
  return messages.flatMap(({ content }, index) =>
    index % 2 === 0 ? [{ question: content, answer: messages[index + 1]?.content ?? lastAnswer }] : [],
  );
}
