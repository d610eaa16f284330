import { createChatTemplate, type ChatTemplate, type ChatTemplateOptions } from './chat-template.ts';
import type { GgufTokenizerMetadata } from './gguf-vocabulary.ts';
import { asObject, isObject, tokenText } from './hub-files.ts';

export interface HubTemplateFiles {
  /** `tokenizer_config.json`, parsed. */
  tokenizerConfig?: unknown;
  /** Text of `chat_template.jinja`; counts before the one in tokenizer_config.json. */
  chatTemplate?: string;
  /** More variables for the template, such as `enable_thinking`. */
  variables?: ChatTemplateOptions['variables'];
}

/** The chat template of a model on the Hub. Of several with names it takes `default`, else the first. */
export function createHubChatTemplate({ tokenizerConfig, chatTemplate, variables }: HubTemplateFiles): ChatTemplate {
  const config = asObject(tokenizerConfig);
  return createChatTemplate({
    template: chatTemplate ?? pickTemplate(config['chat_template']),
    bosToken: tokenText(config['bos_token']) ?? '',
    eosToken: tokenText(config['eos_token']) ?? '',
    ...(variables === undefined ? {} : { variables }),
  });
}

/** The chat template of a GGUF file (`tokenizer.chat_template`). */
export function createGgufChatTemplate(
  metadata: GgufTokenizerMetadata,
  variables?: ChatTemplateOptions['variables'],
): ChatTemplate {
  const template = metadata.get('tokenizer.chat_template');
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const textOf = (name: string) => {
    const id = metadata.get(`tokenizer.ggml.${name}_token_id`);
    const text: unknown = Array.isArray(tokens) && typeof id === 'number' ? tokens[id] : undefined;
    return tokenText(text) ?? '';
  };
  return createChatTemplate({
    template: typeof template === 'string' ? template : undefined,
    bosToken: textOf('bos'),
    eosToken: textOf('eos'),
    ...(variables === undefined ? {} : { variables }),
  });
}

function pickTemplate(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (isObject(value)) return tokenText(value['default'] ?? Object.values(value)[0]);
  if (!Array.isArray(value)) return undefined;
  const named = value.map(asObject);
  return tokenText((named.find(({ name }) => name === 'default') ?? named[0])?.['template']);
}
