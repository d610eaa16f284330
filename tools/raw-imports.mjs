// web-dev-server plugin: what Vite does with `?raw` and `?url` imports, for the test runner.

/** Serves `./x.wgsl?raw` as a module whose default export is the text, and `./x?url` as one whose default export is the URL. */
export function rawImports() {
  return {
    name: 'raw-imports',
    resolveMimeType(context) {
      if ('raw' in context.query || 'url' in context.query) return 'js';
    },
    transform(context) {
      if ('raw' in context.query) return { body: `export default ${JSON.stringify(String(context.body))};` };
      if ('url' in context.query) return { body: `export default ${JSON.stringify(context.path)};` };
    },
  };
}
