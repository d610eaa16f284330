import type { ChatMessage, ChatRole } from '../../../shared/generation.ts';
import { invalid } from '../../../shared/check.ts';
import type { MlcChatConfig, MlcPipeline } from './pipeline.ts';

/** A turn as the library reads it. */
export type MlcMessage = Readonly<Record<string, unknown>> & { role: string; content: string };

/**
 * Messages as the library takes them: one system turn at the most, at the start, and the last one from a user or a tool.
 * @param config of the model, where it is known: its templates eat `$` signs, which are doubled for them
 * @throws TokenglassError `invalid-request` that names the turn
 */
export function toMlcMessages(messages: readonly ChatMessage[], config?: MlcChatConfig): MlcMessage[] {
  const turns = messages.map(({ role, content, templateFields }, index) => {
    const isSystem = role === 'system' || role === 'developer';
    if (isSystem && index > 0)
      throw invalid(`messages[${index}].role`, `is ${role}`, 'web-llm takes one such turn, and as the first');
    return { ...templateFields, role: isSystem ? 'system' : role, content: escaped(content, role, config) };
  });
  const last = messages.length - 1;
  const { role } = messages[last]!;
  if (role !== 'user' && role !== 'tool')
    throw invalid(`messages[${last}].role`, `is ${role}`, 'for web-llm, end with a turn of user or tool');
  return turns;
}

/**
 * The library fills its templates by `String.replace`, which reads `$$`, `$&` and the like (0.2.79 and 0.2.86): LaTeX and shell would
 * reach the model changed. To be deleted once it gives a function.
 */
function escaped(content: string, role: ChatRole, config: MlcChatConfig | undefined): string {
  if (!config || !content.includes('$')) return content;
  const { system_template: system, role_templates: templates } = { ...config.conv_template, ...config.conv_config };
  const template = PLACEHOLDERS[role] === PLACEHOLDERS.system ? system : templates?.[role];
  return template?.includes(`{${PLACEHOLDERS[role]}}`) ? content.replaceAll('$', '$$$$') : content;
}

/** The library writes an empty thought in front of the answer where thinking is turned off. */
export const EMPTY_THOUGHT = '<think>\n\n</think>\n\n';

/**
 * Tokens of a prompt of which no KV is there yet, as the library puts it together: each turn's text is encoded by itself.
 * @param noThinking thinking is turned off
 */
export function countPromptTokens(
  { config, tokenizer }: Pick<MlcPipeline, 'config' | 'tokenizer'>,
  input: { messages: readonly ChatMessage[] } | { prompt: string },
  noThinking = false,
): number {
  if ('prompt' in input) return tokenizer.encode(input.prompt).length;
  const { system_prefix_token_ids: prefix } = { ...config.conv_template, ...config.conv_config };
  const pieces = promptPieces(config, input.messages, noThinking);
  return pieces.reduce((sum, piece) => sum + tokenizer.encode(piece).length, prefix?.length ?? 0);
}

/** The MLC template applied: the system turn, each turn, and the header of the answer. */
function promptPieces(config: MlcChatConfig, messages: readonly ChatMessage[], noThinking: boolean): string[] {
  const template = { ...config.conv_template, ...config.conv_config };
  const { seps, roles, role_content_sep: contentSep = ': ', role_empty_sep: emptySep = ': ' } = template;
  const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';
  const words = messages.find(isSystem)?.content ?? template.system_message;
  const showsSystem = words !== '' || template.render_empty_system_message !== false;
  const system = showsSystem ? fill(template.system_template, 'system_message', words) : '';
  const turns = messages
    .filter((message) => !isSystem(message))
    .map(({ role, content }, index) => {
      const rest = fill(template.role_templates?.[role] ?? `{${PLACEHOLDERS[role]}}`, PLACEHOLDERS[role], content);
      const isBare = template.add_role_after_system_message === false && system !== '' && index === 0;
      const header = isBare ? '' : `${roles[role] ?? ''}${contentSep}`;
      return `${header}${rest.replace('{function_string}', '')}${seps[index % seps.length] ?? ''}`;
    });
  const assistant = roles['assistant'] ?? '';
  const header = noThinking ? `${assistant}${contentSep}${EMPTY_THOUGHT}` : `${assistant}${emptySep}`;
  return [...(system === '' ? [] : [system]), ...turns, header];
}

const PLACEHOLDERS: Readonly<Record<ChatRole, string>> = {
  system: 'system_message',
  developer: 'system_message',
  user: 'user_message',
  assistant: 'assistant_message',
  tool: 'tool_message',
};

const fill = (template: string, name: string, words: string): string => template.replace(`{${name}}`, () => words);
