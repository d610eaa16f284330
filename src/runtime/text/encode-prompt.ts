import { TokenglassError } from '../../shared/errors.ts';
import type { ChatMessage } from '../../shared/generation.ts';
import type { ChatTemplate } from './chat-template.ts';
import { ControlGuard, chooseGuard } from './guard-control.ts';
import type { Tokenizer } from './tokenizer.ts';

/** What the ids of a prompt are made from. */
export type PromptInput = { messages: readonly ChatMessage[] } | { prompt: string };

/**
 * A function that turns messages or raw text into the ids that go to the model.
 * @example
 * ```ts
 * const encode = createPromptEncoder(createGgufTokenizer(metadata), createGgufChatTemplate(metadata));
 * encode({ messages: [{ role: 'user', content: 'What is TTFT?' }] });
 * ```
 */
export function createPromptEncoder(tokenizer: Tokenizer, template: ChatTemplate): (input: PromptInput) => number[] {
  return (input) =>
    'messages' in input ? encodeChat(tokenizer, template, input.messages) : encodePrompt(tokenizer, input.prompt);
}

/** Ids of raw text: a BOS first if the model wants one; control tokens in it stay plain text. */
export function encodePrompt(tokenizer: Tokenizer, prompt: string): number[] {
  const ids = tokenizer.encode(prompt, false);
  return tokenizer.addBos && tokenizer.bosId !== undefined ? [tokenizer.bosId, ...ids] : ids;
}

/**
 * Ids of a chat, formatted by the template, with the opening of the assistant's turn at the end.
 *
 * Exactly one BOS, whether the template writes it, the tokenizer adds it, or both. Control tokens typed in a message stay plain text:
 * they are interrupted by a guard character before the template runs, and put together again once the template's own control tokens
 * are ids.
 *
 * @throws TokenglassError `invalid-request`, `unsupported`; see {@link ChatTemplate.render}
 */
export function encodeChat(tokenizer: Tokenizer, template: ChatTemplate, messages: readonly ChatMessage[]): number[] {
  const ids = encodeRendered(tokenizer, template, messages);
  const { bosId, addBos } = tokenizer;
  if (bosId === undefined) return ids;
  const start = ids.findIndex((id) => id !== bosId);
  const rest = ids.slice(start === -1 ? ids.length : start);
  return addBos || start !== 0 ? [bosId, ...rest] : rest;
}

function encodeRendered(tokenizer: Tokenizer, template: ChatTemplate, messages: readonly ChatMessage[]): number[] {
  const { controlTexts } = tokenizer;
  if (tokenizer.encodeGuarded === undefined || controlTexts === undefined) {
    return tokenizer.encode(template.render(messages), true);
  }
  const guard = chooseGuard(messages.map(({ content }) => content));
  if (guard === undefined) {
    throw new TokenglassError(
      'invalid-request',
      'Cannot encode the messages: they hold every noncharacter of Unicode from U+FDD0 to U+FDEF; remove one of these',
      { details: { field: 'messages' } },
    );
  }
  const control = controlGuardOf(controlTexts);
  const guarded = messages.map((message) => ({ ...message, content: control.interrupt(message.content, guard) }));
  return tokenizer.encodeGuarded(template.render(guarded), guard);
}

const controlGuards = new WeakMap<readonly string[], ControlGuard>();

function controlGuardOf(controlTexts: readonly string[]): ControlGuard {
  let control = controlGuards.get(controlTexts);
  if (control === undefined) {
    control = new ControlGuard(controlTexts);
    controlGuards.set(controlTexts, control);
  }
  return control;
}
