import { importXgrammar } from './import-xgrammar.ts';

/** The part of `@mlc-ai/web-xgrammar` that is used. */
export type Xgrammar = Pick<
  typeof import('@mlc-ai/web-xgrammar'),
  'TokenizerInfo' | 'GrammarCompiler' | 'GrammarMatcher'
>;

/**
 * Loads the library (1 MB with its WebAssembly). It is a UMD bundle: through a bundler it comes as a module, and where a browser or Node runs
 * it as a module itself, it puts itself on the global object.
 */
export async function loadXgrammar(): Promise<Xgrammar> {
  const module: Partial<Xgrammar> & { default?: unknown } = await importXgrammar();
  const places = [module, module.default, (globalThis as { xgrammar?: unknown }).xgrammar];
  const found = places.find((place) => (place as Partial<Xgrammar> | undefined)?.GrammarCompiler !== undefined);
  if (!found) throw new TypeError('Cannot find the exports of @mlc-ai/web-xgrammar');
  return found as Xgrammar;
}
