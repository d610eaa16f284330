// web-dev-server plugin: serves packages that are CommonJS in a browser too, which a bundler would convert, as modules.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build } from 'vite';

const require = createRequire(import.meta.url);

/** @param files paths within node_modules, as they are imported: `@vercel/oidc/dist/index-browser.js` */
export function commonJsImports(files) {
  const bodies = new Map();
  return {
    name: 'commonjs-imports',
    serve(context) {
      const file = files.find((candidate) => context.path.endsWith(`/node_modules/${candidate}`));
      if (!file) return;
      if (!bodies.has(file)) bodies.set(file, bundle(require.resolve(`../node_modules/${file}`)));
      return bodies.get(file).then((body) => ({ body, type: 'js' }));
    },
  };
}

async function bundle(path) {
  const id = 'virtual:commonjs-import';
  const names = Object.keys(require(path)).filter((name) => name !== 'default');
  const entry = {
    name: 'entry',
    resolveId: (source) => (source === id ? id : undefined),
    load: (source) => (source === id ? `export { ${names.join(', ')} } from ${JSON.stringify(path)};` : undefined),
  };
  const { output } = await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [entry],
    build: { write: false, minify: false, rolldownOptions: { input: id, preserveEntrySignatures: 'strict' } },
  });
  return output[0].code;
}

/** Serves files whose branch for Node imports what no browser has, without that import. */
export function withoutNodeImports(files) {
  return {
    name: 'without-node-imports',
    serve(context) {
      const file = files.find((candidate) => context.path.endsWith(`/node_modules/${candidate}`));
      if (!file) return;
      const code = readFileSync(new URL(`../node_modules/${file}`, import.meta.url), 'utf8');
      return {
        body: code.replaceAll(/import\((['"])module\1\)/g, 'Promise.reject(new TypeError("This is no Node"))'),
        type: 'js',
      };
    },
  };
}
