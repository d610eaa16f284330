import { TokenglassError } from '../../../shared/errors.ts';
import type { PromptInput } from '../../text/encode-prompt.ts';
import { send, type SendOptions } from './send.ts';
import type { Server } from './server-kind.ts';

/**
 * Asks the server how many tokens a prompt has. OpenAI's API has no such question; vLLM and llama.cpp answer it beside the API.
 * @throws TokenglassError `unsupported` for other servers, and what {@link send} throws
 */
export async function countTokens(
  server: Server,
  input: PromptInput,
  sending: SendOptions,
  signal: AbortSignal,
): Promise<number> {
  const { kind, baseURL, model, fetch } = server;
  const root = baseURL.replace(/\/v1$/, '');
  const ask = async (path: string, body: unknown): Promise<Readonly<Record<string, unknown>>> => {
    const headers = { 'Content-Type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal };
    const response = await send(`${root}${path}`, init, { ...sending, fetch });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
  if (kind === 'vllm') {
    const prompt =
      'messages' in input
        ? { messages: input.messages.map(({ templateFields, ...rest }) => ({ ...templateFields, ...rest })) }
        : { prompt: input.prompt };
    const { count } = await ask('/tokenize', { model, ...prompt });
    if (typeof count === 'number') return count;
  } else if (kind === 'llama.cpp') {
    const content =
      'messages' in input ? (await ask('/apply-template', { messages: input.messages }))['prompt'] : input.prompt;
    const { tokens } = await ask('/tokenize', { content, add_special: true, parse_special: true });
    if (Array.isArray(tokens)) return tokens.length;
  }
  throw new TokenglassError(
    'unsupported',
    'Cannot count tokens: this server does not tell them; read the usage of an answer instead',
  );
}
