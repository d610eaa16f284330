import type { Backend } from '../backends/backend.ts';
import { DraftModel } from '../engine/speculation/draft-model.ts';
import { checkDraftVocabulary } from '../engine/speculation/draft-vocabulary.ts';
import { Speculator } from '../engine/speculation/speculator.ts';
import type { ModelSpec } from '../models/catalog.ts';
import type { Tokenizer } from '../text/tokenizer.ts';

/**
 * Speculative decoding: `off`; `prompt-lookup`, which drafts what followed the same words in prompt or output before; or that with more about it.
 * The text is the same in each case.
 */
export type SpeculationOption = 'off' | 'prompt-lookup' | SpeculationOptions;

export interface SpeculationOptions {
  /**
   * A smaller GGUF model of the same vocabulary, which drafts where looking up finds nothing that pays. Only on the engine `webgpu`; others go without.
   * @default none
   */
  draftModel?: ModelSpec;
  /** Draft tokens of an answer in a step, at most. @default 15 */
  maxDraftTokens?: number;
}

/**
 * What an engine with speculative decoding is given; nothing for a backend that cannot verify.
 * @param loadDraft loads the draft model, for a target that runs on WebGPU
 * @throws TokenglassError `model-unsupported` for a draft model of another vocabulary; RangeError for a senseless number
 */
export async function createSpeculator(
  option: SpeculationOption,
  target: { backend: Backend; tokenizer: Tokenizer },
  loadDraft: (model: ModelSpec) => Promise<{ backend: Backend; tokenizer: Tokenizer }>,
): Promise<Speculator | undefined> {
  const { draftModel, maxDraftTokens }: SpeculationOptions = typeof option === 'string' ? {} : option;
  const { maxVerifyTokens } = target.backend.info.capabilities;
  if (option === 'off' || maxVerifyTokens === 0) return undefined;
  const settings = { maxVerifyTokens, ...(maxDraftTokens !== undefined && { maxDraftTokens }) };
  if (draftModel === undefined || target.backend.info.name !== 'webgpu') return new Speculator(settings);
  const draft = await loadDraft(draftModel);
  try {
    checkDraftVocabulary(target.tokenizer, draft.tokenizer);
  } catch (error) {
    await draft.backend.dispose();
    throw error;
  }
  return new Speculator({ ...settings, draftModel: new DraftModel(draft.backend) });
}
