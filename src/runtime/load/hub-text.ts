import { isTokenglassError } from '../../shared/errors.ts';
import { readBytes, readJson, readOptionalJson } from '../models/read-file.ts';
import type { ModelSource } from '../models/source.ts';
import { samplingDefaultsFrom } from '../request/sampling-defaults.ts';
import { createHubChatTemplate } from '../text/chat-template-source.ts';
import { createPromptEncoder } from '../text/encode-prompt.ts';
import { createHubTokenizer } from '../text/hub-tokenizer.ts';
import type { ModelText } from './model-text.ts';

/**
 * Loads tokenizer, chat template and sampling defaults from the files of a Hub repository. Only tokenizer.json must be there.
 * @throws TokenglassError `model-not-found`, `model-invalid`, `model-unsupported`, `network`
 */
export async function loadHubText(source: ModelSource, signal: AbortSignal): Promise<ModelText> {
  const [tokenizerJson, tokenizerConfig, generationConfig] = await Promise.all([
    readJson(source, 'tokenizer.json', { signal }),
    readOptionalJson(source, 'tokenizer_config.json', { signal }),
    readOptionalJson(source, 'generation_config.json', { signal }),
  ]);
  const tokenizer = createHubTokenizer({ tokenizerJson, tokenizerConfig, generationConfig });
  // Newer repositories keep the template in a file of its own.
  const inConfig = (tokenizerConfig as { chat_template?: unknown } | undefined)?.chat_template;
  const chatTemplate =
    inConfig === undefined ? await readOptionalText(source, 'chat_template.jinja', signal) : undefined;
  const template = createHubChatTemplate({
    ...(tokenizerConfig !== undefined && { tokenizerConfig }),
    ...(chatTemplate !== undefined && { chatTemplate }),
  });
  return {
    tokenizer,
    encodePrompt: createPromptEncoder(tokenizer, template),
    defaults: samplingDefaultsFrom(generationConfig),
  };
}

async function readOptionalText(source: ModelSource, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await readBytes(source, path, { signal }));
  } catch (error) {
    if (isTokenglassError(error, 'model-not-found')) return undefined;
    throw error;
  }
}
