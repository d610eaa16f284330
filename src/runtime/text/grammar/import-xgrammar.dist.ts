import { TokenglassError } from '../../../shared/errors.ts';
import { partUrl } from '../../../shared/parts.ts';

/** @throws TokenglassError `unsupported` where the build of the page does not carry the library */
export function importXgrammar(): Promise<typeof import('@mlc-ai/web-xgrammar')> {
  const url = partUrl('grammar');
  if (url !== undefined)
    return import(/* @vite-ignore */ /* webpackIgnore: true */ url) as Promise<typeof import('@mlc-ai/web-xgrammar')>;
  throw new TokenglassError(
    'unsupported',
    'Cannot hold an answer to a grammar: the build of this page does not carry the grammar library; see docs/embedding.md',
  );
}
