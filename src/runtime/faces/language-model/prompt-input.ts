import type { ChatMessage } from '../../../shared/generation.ts';

/** A message as the Prompt API has it. */
export interface LanguageModelMessage {
  role: 'system' | 'user' | 'assistant';
  content: string | readonly { type: string; value: unknown }[];
  /** Asks to go on with an assistant's message; refused. */
  prefix?: boolean;
}

export type LanguageModelPrompt = string | readonly LanguageModelMessage[];

/** @param isInitial system messages are allowed, at the very start */
export function readPrompt(input: LanguageModelPrompt, isInitial: boolean): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return input.map(({ role, content, prefix }, index) => {
    if (!['system', 'user', 'assistant'].includes(role))
      throw new TypeError(`Cannot prompt: the role ${role} is not known; use system, user or assistant`);
    if (role === 'system' && !isInitial) throw notSupported('system messages belong to initialPrompts');
    if (role === 'system' && index > 0) throw new TypeError('Cannot prompt: a system message is not the first one');
    if (prefix === true) throw notSupported('an answer cannot be begun by the page');
    return { role, content: readContent(content) };
  });
}

function readContent(content: LanguageModelMessage['content']): string {
  if (typeof content === 'string') return content;
  const texts = content.map(({ type, value }) => {
    if (type !== 'text') throw notSupported(`content of the type ${type} is not understood`);
    return String(value);
  });
  return texts.join('');
}

export const notSupported = (what: string): DOMException =>
  new DOMException(`Cannot prompt: ${what}`, 'NotSupportedError');
