import { TokenglassError } from '../../../shared/errors.ts';
import { invalid } from '../gguf/header-cursor.ts';
import type { GgufHeader } from '../gguf/header.ts';
import { findStrings, getInteger, getString } from '../gguf/metadata.ts';
import { ARCHITECTURES } from './index.ts';
import type { ModelDescription } from './model-config.ts';
import { readConfig } from './read-config.ts';
import { findWeights } from './find-weights.ts';

/**
 * What a GGUF header says of its model: the configuration and, by role, the tensors. Every tensor that the architecture needs is
 * there in the right shape, and every tensor of the file has a role.
 *
 * @throws TokenglassError `model-unsupported` (architecture or a variant of it that we do not run, or a part of a split file), `model-invalid` (metadata or a
 *   tensor missing or of the wrong shape; names it)
 */
export function describeModel(header: GgufHeader): ModelDescription {
  const parts = getInteger(header.metadata, 'split.count', { fallback: 1 });
  if (parts > 1) {
    throw new TokenglassError(
      'model-unsupported',
      `Cannot run the model: it is split into ${parts} files; join them with "llama-gguf-split --merge"`,
      { details: { parts } },
    );
  }
  const name = getString(header.metadata, 'general.architecture');
  const architecture = ARCHITECTURES.get(name);
  if (architecture === undefined) {
    const known = [...ARCHITECTURES.keys()];
    throw new TokenglassError(
      'model-unsupported',
      `Cannot run the model: its architecture is "${name}"; these are known: ${known.join(', ')}`,
      { details: { architecture: name, known } },
    );
  }
  const config = readConfig(architecture, header);
  const weights = findWeights(config, header);
  const tokens = findStrings(header.metadata, 'tokenizer.ggml.tokens');
  if (tokens !== undefined && tokens.length > config.vocabSize) {
    throw invalid(`its vocabulary has ${tokens.length} tokens, and its embedding ${config.vocabSize} rows`);
  }
  return { config, weights };
}
