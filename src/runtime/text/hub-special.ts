import { findNamedTokens } from './end-tokens.ts';
import { asObject, listParts, tokenText, type HubTokenizerFiles, type HubTokenizerJson } from './hub-files.ts';

/** Special ids that are spread over the files of a model. */
export interface HubSpecial {
  bosId?: number;
  addBos: boolean;
  endIds: readonly number[];
  controlIds: ReadonlySet<number>;
}

/**
 * Finds BOS, the ids that end a turn and the control tokens.
 *
 * - BOS: `bos_token` of tokenizer_config.json, `bos_token_id` of generation_config.json, or what the post-processor puts first.
 * - Whether it is added: `add_bos_token` where it says so, else whether the post-processor puts it first.
 * - Ends: `eos_token_id` of generation_config.json (one or several), `eos_token`, and special tokens that end a turn by their name.
 * - Control tokens: those of `added_tokens` that are special, and all of the above.
 *
 * @param idOf the id of a token by its text
 */
export function findHubSpecial(
  { addedTokens, postProcessor }: HubTokenizerJson,
  files: HubTokenizerFiles,
  idOf: (text: string) => number | undefined,
): HubSpecial {
  const config = asObject(files.tokenizerConfig);
  const generation = asObject(files.generationConfig);
  const special = new Map(addedTokens.filter((token) => token.special).map(({ content, id }) => [content, id]));
  const idOfText = (text: string | undefined) => (text === undefined ? undefined : idOf(text));

  const first = findTemplateStart(postProcessor);
  const bosId = idOfText(tokenText(config['bos_token'])) ?? toIds(generation['bos_token_id'])[0] ?? idOfText(first);
  const wantsBos = config['add_bos_token'];
  const addBos = typeof wantsBos === 'boolean' ? wantsBos : first !== undefined && idOf(first) === bosId;

  const ends = new Set([...findNamedTokens((text) => special.get(text)).ends, ...toIds(generation['eos_token_id'])]);
  const eosId = idOfText(tokenText(config['eos_token']));
  if (eosId !== undefined) ends.add(eosId);
  const controlIds = new Set([...special.values(), ...ends]);
  if (bosId !== undefined) controlIds.add(bosId);
  return {
    ...(bosId === undefined ? {} : { bosId }),
    addBos: addBos && bosId !== undefined,
    endIds: [...ends].sort((a, b) => a - b),
    controlIds,
  };
}

/** The special token that a TemplateProcessing post-processor puts before a text. */
function findTemplateStart(postProcessor: unknown): string | undefined {
  const template = listParts(postProcessor).find(({ type }) => type === 'TemplateProcessing');
  const single = template?.['single'];
  if (!Array.isArray(single)) return undefined;
  return tokenText(asObject(asObject(single[0])['SpecialToken'])['id']);
}

function toIds(value: unknown): number[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((id): id is number => typeof id === 'number' && Number.isSafeInteger(id) && id >= 0);
}
