/** The library build takes `import-package.dist.ts` in the place of this file. */
export const importPackage = (): Promise<unknown> => import('@mlc-ai/web-llm');

/** Tells where the package comes from; a build of the sources finds it itself. */
export const registerPackage = (_loader: () => Promise<unknown>): void => undefined;
