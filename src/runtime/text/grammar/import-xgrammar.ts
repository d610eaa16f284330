/** The library build takes `import-xgrammar.dist.ts` in the place of this file. */
export const importXgrammar = () => import('@mlc-ai/web-xgrammar');
