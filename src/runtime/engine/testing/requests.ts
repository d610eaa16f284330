import type { GenerateRequest } from '../../../shared/generation.ts';
import { bytesOf } from './byte-tokenizer.ts';
import { scriptedTokens } from './next-token.ts';

/** 40 tokens of the byte tokenizer, the BOS included. */
export const PROMPT = 'A prompt of 39 bytes, and not one more.';
/** Asks for 12 tokens, end tokens or not. */
export const LONG: GenerateRequest = { prompt: PROMPT, maxTokens: 12, ignoreEos: true };
/** Answers "x" for longer than any test asks. */
export const endless = scriptedTokens(bytesOf('x'.repeat(200)));
