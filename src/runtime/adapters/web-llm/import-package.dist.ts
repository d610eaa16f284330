let load = (): Promise<unknown> => Promise.reject(new TypeError('tokenglass/web-llm was not imported'));

/** The package as `tokenglass/web-llm` has brought it: a page that does not import that entry is built without the package. */
export const importPackage = (): Promise<unknown> => load();

/** Tells where the package comes from. */
export function registerPackage(loader: () => Promise<unknown>): void {
  load = loader;
}
