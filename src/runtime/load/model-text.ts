import { TokenglassError } from '../../shared/errors.ts';
import { samplingDefaultsFrom, type SamplingDefaults } from '../request/sampling-defaults.ts';
import { readBytes, readJson, readOptionalJson } from '../models/read-file.ts';
import type { ModelSource } from '../models/source.ts';
import { createGgufChatTemplate, createHubChatTemplate } from '../text/chat-template-source.ts';
import { createPromptEncoder, type PromptInput } from '../text/encode-prompt.ts';
import { createGgufTokenizer } from '../text/gguf-tokenizer.ts';
import type { GgufTokenizerMetadata } from '../text/gguf-vocabulary.ts';
import { createHubTokenizer } from '../text/hub-tokenizer.ts';
import type { Tokenizer } from '../text/tokenizer.ts';

/** The text side of a model. */
export interface ModelText {
  tokenizer: Tokenizer;
  encodePrompt: (input: PromptInput) => number[];
  /** What generation_config.json recommends; nothing for GGUF. */
  defaults: SamplingDefaults;
}

/**
 * Tokenizer and chat template from the metadata of a GGUF file.
 * @throws TokenglassError `model-invalid`, `model-unsupported`
 */
export function ggufText(metadata: GgufTokenizerMetadata): ModelText {
  const tokenizer = createGgufTokenizer(metadata);
  const encodePrompt = createPromptEncoder(tokenizer, createGgufChatTemplate(metadata));
  return { tokenizer, encodePrompt, defaults: {} };
}

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
    if (error instanceof TokenglassError && error.code === 'model-not-found') return undefined;
    throw error;
  }
}
