// A model of @mlc-ai/web-llm for the tests, where a folder and a compiled library are at hand:
//   TOKENGLASS_MLC_MODEL   folder with mlc-chat-config.json, weights and tokenizer
//   TOKENGLASS_MLC_LIB     the compiled library (.wasm)
//   TOKENGLASS_MLC_PACKAGE lib/index.js of the version that runs it, if that is not the installed one (libraries of v0_2_48 run on 0.2.79)
import { createReadStream, existsSync } from 'node:fs';
import { basename, extname, join } from 'node:path';

const TYPES = { '.json': 'application/json', '.js': 'text/javascript', '.wasm': 'application/wasm' };

/** web-test-runner middleware: serves them under /mlc/, with /mlc/config.json saying which are there. */
export function mlcFiles(
  { TOKENGLASS_MLC_MODEL: model, TOKENGLASS_MLC_LIB: lib, TOKENGLASS_MLC_PACKAGE: library } = process.env,
) {
  for (const path of [model, lib, library])
    if (path && !existsSync(path)) throw new Error(`Cannot test with a model of web-llm: there is no ${path}`);
  const fileOf = (path) => {
    if (path === '/mlc/lib.wasm') return lib;
    if (path === '/mlc/package.js') return library;
    if (path.startsWith('/mlc/model/')) return model && join(model, basename(path));
    return undefined;
  };
  return (context, next) => {
    if (!context.path.startsWith('/mlc/')) return next();
    if (context.path === '/mlc/config.json') {
      context.body = { hasModel: Boolean(model && lib), hasPackage: Boolean(library) };
      return undefined;
    }
    const file = fileOf(context.path);
    if (!file || !existsSync(file)) return next();
    context.type = TYPES[extname(file)] ?? 'application/octet-stream';
    context.body = createReadStream(file);
    return undefined;
  };
}
