import { fromByteAlphabet } from '../../text/byte-alphabet.ts';
import { parseByteToken } from '../../text/byte-tokens.ts';
import type { MlcPipeline } from './pipeline.ts';

/** What a token stands for in running text; nothing where the vocabulary's way of writing is not known. */
export type TokenBytes = (id: number) => Uint8Array | undefined;

/** Reads tokens as `tokenizer_info.token_postproc_method` of the model's config says that they are written. */
export function tokenBytesOf({ tokenizer, config }: Pick<MlcPipeline, 'tokenizer' | 'config'>): TokenBytes {
  const utf8 = new TextEncoder();
  const vocabSize = tokenizer.getVocabSize();
  const read = READERS[config.tokenizer_info?.token_postproc_method ?? ''];
  return (id) => {
    if (!read || id >= vocabSize) return undefined;
    const token = tokenizer.idToToken(id);
    return /^<\|.*\|>$/.test(token) ? new Uint8Array() : read(token, utf8);
  };
}

const READERS: Readonly<Record<string, (token: string, utf8: TextEncoder) => Uint8Array | undefined>> = {
  byte_level: (token) => fromByteAlphabet(token),
  byte_fallback: (token, utf8) => {
    const byte = parseByteToken(token);
    return byte === undefined ? utf8.encode(token.replaceAll('\u2581', ' ')) : Uint8Array.of(byte);
  },
};
