import { TokenglassError } from '../../shared/errors.ts';
import type { ChatMessage } from '../../shared/generation.ts';
import type { ChatTemplate } from './chat-template.ts';
import { ControlGuard, chooseGuard } from './guard-control.ts';
import type { Tokenizer } from './tokenizer.ts';

/** What the ids of a prompt are made from. */
export type PromptInput =
  | {
      messages: readonly ChatMessage[];
      /** More variables for the chat template. */
      templateVariables?: Readonly<Record<string, unknown>>;
    }
  | { prompt: string };

/**
 * A function that turns messages or raw text into the ids that go to the model.
 */
export function createPromptEncoder(tokenizer: Tokenizer, template: ChatTemplate): (input: PromptInput) => number[] {
  return (input) =>
    'messages' in input
      ? encodeChat(tokenizer, template, input.messages, input.templateVariables)
      : encodePrompt(tokenizer, input.prompt);
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
export function encodeChat(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  variables: Readonly<Record<string, unknown>> = {},
): number[] {
  const ids = encodeRendered(tokenizer, template, messages, variables);
  const { bosId, addBos } = tokenizer;
  if (bosId === undefined) return ids;
  const start = ids.findIndex((id) => id !== bosId);
  const rest = ids.slice(start === -1 ? ids.length : start);
  return addBos || start !== 0 ? [bosId, ...rest] : rest;
}

function encodeRendered(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  variables: Readonly<Record<string, unknown>>,
): number[] {
  const { controlTexts } = tokenizer;
  if (tokenizer.encodeGuarded === undefined || controlTexts === undefined) {
    return tokenizer.encode(template.render(messages, { variables }), true);
  }
  const guard = chooseGuard([...textsOf(messages), ...textsOf(variables)]);
  if (guard === undefined) {
    throw new TokenglassError(
      'invalid-request',
      'Cannot encode the messages: they hold every noncharacter of Unicode from U+FDD0 to U+FDEF; remove one of these',
      { details: { field: 'messages' } },
    );
  }
  const control = controlGuardOf(controlTexts);
  const interrupt = (text: string): string => control.interrupt(text, guard);
  const guarded = messages.map(({ role, content, templateFields }): ChatMessage => ({
    role,
    content: interrupt(content),
    ...(templateFields && { templateFields: mapTexts(templateFields, interrupt) }),
  }));
  return tokenizer.encodeGuarded(template.render(guarded, { variables: mapTexts(variables, interrupt) }), guard);
}

/** Every text in plain data; keys included, for templates that write them out. */
function* textsOf(data: unknown): Generator<string> {
  if (typeof data === 'string') yield data;
  if (typeof data !== 'object' || data === null) return;
  for (const [key, value] of Object.entries(data)) {
    yield key;
    yield* textsOf(value);
  }
}

function mapTexts<Data>(data: Data, change: (text: string) => string): Data {
  const map = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value);
    if (Array.isArray(value)) return value.map(map);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), map(item)]));
  };
  return map(data) as Data;
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
