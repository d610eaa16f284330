import type { SamplingDefaults } from '../request/sampling-defaults.ts';
import { createGgufChatTemplate } from '../text/chat-template-source.ts';
import { createPromptEncoder, type PromptInput } from '../text/encode-prompt.ts';
import { createGgufTokenizer } from '../text/gguf-tokenizer.ts';
import type { GgufTokenizerMetadata } from '../text/gguf-vocabulary.ts';
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
