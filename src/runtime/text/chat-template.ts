import { Template } from '@huggingface/jinja';
import { TokenglassError } from '../../shared/errors.ts';
import type { ChatMessage } from '../../shared/generation.ts';

/** Formats chat turns as the model has learnt to read them. */
export interface ChatTemplate {
  /**
   * The text of a chat, control tokens written out.
   * @throws TokenglassError `invalid-request` with the template's own words where it refuses the messages (roles that must alternate,
   *   say); `unsupported` where there is no template, or one that does not run
   */
  render(messages: readonly ChatMessage[], options?: RenderOptions): string;
}

interface RenderOptions {
  /** Ends with the opening of the assistant's turn. @default true */
  addGenerationPrompt?: boolean;
  /** More variables for this chat, over those of the template. @throws `unsupported` for `tools` where the template knows none */
  variables?: Readonly<Record<string, unknown>>;
}

export interface ChatTemplateOptions {
  /** Jinja source; undefined for a model without a template, which then can be used with `prompt` only. */
  template: string | undefined;
  /** What `bos_token` stands for in the template. @default '' */
  bosToken?: string;
  /** What `eos_token` stands for in the template. @default '' */
  eosToken?: string;
  /** More variables for the template, such as `enable_thinking`. */
  variables?: Readonly<Record<string, unknown>>;
}

/** Stands in for a system message when a template is tried; any text that no template has would do. */
const PROBE = 'tokenglass-probe-7f3a';

/**
 * Makes a chat template from Jinja source. Two things keep templates of all models usable in one way:
 *
 * - `developer` becomes `system` for a template that does not speak of it;
 * - a template that refuses or ignores system messages gets them at the head of the first user message, with an empty line between.
 *
 * A template that does not parse throws when it is first used, so that the model can still be used with `prompt`.
 */
export function createChatTemplate(options: ChatTemplateOptions): ChatTemplate {
  return new JinjaChatTemplate(options);
}

class JinjaChatTemplate implements ChatTemplate {
  readonly #options: ChatTemplateOptions;
  #parsed: Template | undefined;
  #takesSystem: boolean | undefined;
  #takesArgumentObjects: boolean | undefined;

  constructor(options: ChatTemplateOptions) {
    this.#options = options;
  }

  render(messages: readonly ChatMessage[], { addGenerationPrompt = true, variables = {} }: RenderOptions = {}): string {
    const template = this.#template();
    this.#refuseTools(variables);
    const knowsDeveloper = this.#options.template?.includes('developer') === true;
    let turns = messages.map(({ role, ...rest }): ChatMessage => ({
      ...rest,
      role: role === 'developer' && !knowsDeveloper ? 'system' : role,
    }));
    if (turns.some(({ templateFields }) => templateFields?.['tool_calls'] !== undefined)) {
      this.#takesArgumentObjects ??= this.#acceptsArgumentObjects(template);
      if (this.#takesArgumentObjects) turns = turns.map(withArgumentObjects);
    }
    if (turns.some(({ role }) => role === 'system')) {
      this.#takesSystem ??= this.#acceptsSystem(template);
      if (!this.#takesSystem) turns = foldSystem(turns);
    }
    try {
      return this.#run(template, turns, addGenerationPrompt, variables);
    } catch (cause) {
      if (!this.#runs(template)) {
        throw new TokenglassError(
          'unsupported',
          `Cannot format the messages: the chat template of the model does not run (${messageOf(cause)}); use \`prompt\``,
          { cause, details: { field: 'messages' } },
        );
      }
      throw new TokenglassError(
        'invalid-request',
        `Cannot format the messages: the chat template of the model says "${messageOf(cause)}"; change the messages, or use \`prompt\``,
        { cause, details: { field: 'messages' } },
      );
    }
  }

  #template(): Template {
    const source = this.#options.template;
    if (source === undefined) {
      throw new TokenglassError(
        'unsupported',
        'Cannot format the messages: the model has no chat template; use `prompt` with the text as the model expects it',
        { details: { field: 'messages' } },
      );
    }
    try {
      return (this.#parsed ??= new Template(source));
    } catch (cause) {
      throw new TokenglassError(
        'unsupported',
        `Cannot format the messages: the chat template of the model does not parse (${messageOf(cause)}); use \`prompt\``,
        { cause, details: { field: 'messages' } },
      );
    }
  }

  #run(
    template: Template,
    messages: readonly ChatMessage[],
    addGenerationPrompt: boolean,
    more: Readonly<Record<string, unknown>> = {},
  ): string {
    const { bosToken = '', eosToken = '', variables } = this.#options;
    return template.render({
      ...variables,
      ...more,
      messages: messages.map(({ role, content, templateFields }) => ({ ...templateFields, role, content })),
      add_generation_prompt: addGenerationPrompt,
      bos_token: bosToken,
      eos_token: eosToken,
    });
  }

  /** A template that fails on a single user message asks for something that we do not have; no other messages would help. */
  #runs(template: Template): boolean {
    try {
      this.#run(template, [{ role: 'user', content: 'x' }], true);
      return true;
    } catch {
      return false;
    }
  }

  /** Tools that the template does not write into the prompt would be ignored in silence. */
  #refuseTools(variables: Readonly<Record<string, unknown>>): void {
    if (variables['tools'] === undefined || this.#options.template?.includes('tools') === true) return;
    throw new TokenglassError(
      'unsupported',
      'Cannot format the messages: the chat template of the model knows no tools; leave them out, or take another model',
      { details: { field: 'templateVariables.tools' } },
    );
  }

  /** Most templates write the arguments of a call as JSON themselves; some put the text in as it is. */
  #acceptsArgumentObjects(template: Template): boolean {
    const call = { id: 'probe0001', type: 'function', function: { name: 'probe', arguments: { [PROBE]: 1 } } };
    const messages: ChatMessage[] = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '', templateFields: { tool_calls: [call] } },
      { role: 'tool', content: 'x', templateFields: { tool_call_id: 'probe0001', name: 'probe' } },
    ];
    try {
      return this.#run(template, messages, true).includes(PROBE);
    } catch {
      return false;
    }
  }

  #acceptsSystem(template: Template): boolean {
    const messages: ChatMessage[] = [
      { role: 'system', content: PROBE },
      { role: 'user', content: 'x' },
    ];
    try {
      return this.#run(template, messages, true).includes(PROBE);
    } catch {
      return false;
    }
  }
}

/** Arguments of tool calls parsed, where they are JSON. */
function withArgumentObjects(turn: ChatMessage): ChatMessage {
  const calls: unknown = turn.templateFields?.['tool_calls'];
  if (!Array.isArray(calls)) return turn;
  const parsed = calls.map((call: { function?: { arguments?: unknown } }) => ({
    ...call,
    function: { ...call.function, arguments: parsedJson(call.function?.arguments) },
  }));
  return { ...turn, templateFields: { ...turn.templateFields, tool_calls: parsed } };
}

function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** System messages put at the head of the first user message after them, or made one where none follows. */
function foldSystem(messages: readonly ChatMessage[]): ChatMessage[] {
  const folded: ChatMessage[] = [];
  let pending: string[] = [];
  for (const message of messages) {
    if (message.role === 'system') {
      pending.push(message.content);
    } else if (message.role === 'user' && pending.length > 0) {
      folded.push({ role: 'user', content: [...pending, message.content].join('\n\n') });
      pending = [];
    } else {
      folded.push(message);
    }
  }
  if (pending.length > 0) folded.push({ role: 'user', content: pending.join('\n\n') });
  return folded;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
