// Every example in TypeScript, in README, docs and docstrings, compiles as a consumer would write it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { listFiles } from './files.mjs';
import { compile, consumerFolder } from './types/consumer-folder.mjs';

/** What an example may use without saying where it comes from: a loaded engine, elements of its page, and what the package exports. */
const GLOBALS = `
declare const engine: import('tokenglass').OpenAiEngine;
declare const messages: import('tokenglass').ChatMessage[];
declare const request: import('tokenglass').GenerateRequest;
declare const questions: string[];
declare const output: HTMLElement;
declare const link: HTMLAnchorElement;
declare const signal: AbortSignal;
declare const chat: import('tokenglass/ui').TgChat;
declare const overlay: import('tokenglass/ui').TgOverlay;
declare const dashboard: import('tokenglass/dashboard').TgDashboard;
declare const load: (model: string) => void;
declare const show: (value: unknown) => void;
declare const log: import('tokenglass/metrics').TraceLog;
declare const OpenAI: typeof import('openai').default;
`;

/** Entries whose exports a docstring uses without an import. */
const ENTRIES = [
  'tokenglass',
  'tokenglass/ui',
  'tokenglass/dashboard',
  'tokenglass/metrics',
  'tokenglass/bench',
  'tokenglass/react',
];

function snippetsOf(path) {
  const text = readFileSync(path, 'utf8');
  const lines = /\.tsx?$/.test(path) ? text.replaceAll(/^ *\* ?/gm, '') : text;
  const found = lines.matchAll(/^ *```(tsx?)\n([\s\S]*?)^ *```/gm);
  return [...found].map(([, language, code], at) => ({ path, at, language, code }));
}

/** Names that an entry exports as values. */
function valuesOf(path) {
  const source = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
  return [...source.matchAll(/export \{([^}]*)\}/g)].flatMap(([, names]) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => /^\w+$/.test(name)),
  );
}

function globals() {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'));
  const sources = ENTRIES.map((entry) => [entry, exports[`.${entry.slice('tokenglass'.length)}`].types]);
  const lines = sources.flatMap(([entry, types]) =>
    valuesOf(types.replace('./dist/', 'src/').replace('.d.ts', '.ts')).map(
      (name) => `declare const ${name}: typeof import('${entry}').${name};`,
    ),
  );
  return GLOBALS + [...new Set(lines)].join('\n');
}

describe('examples in the documentation', () => {
  let place;
  before(() => (place = consumerFolder()));
  after(() => place.remove());

  it('examples in README, docs and docstrings compile', () => {
    // Of the source, what the package declares: the rest is for us.
    const declared = (path) =>
      existsSync(join(place.folder, 'node_modules/tokenglass', path.replace(/^src/, 'dist').replace(/\.ts$/, '.d.ts')));
    const guides = ['README.md', ...listFiles('docs')].filter((path) => path.endsWith('.md'));
    const paths = [...guides, ...listFiles('src').filter((path) => path.endsWith('.ts') && declared(path))];
    const snippets = paths.flatMap(snippetsOf);
    assert.ok(snippets.length > 30, `only ${snippets.length} examples were found`);
    const files = snippets.map(({ path, at, language, code }) => {
      const name = `${path.replaceAll(/[^\w]/g, '-')}-${at}.${language}`;
      const body = /return </.test(code) && !/function /.test(code) ? `export function Example() {\n${code}\n}` : code;
      const tag = /^src\/ui\/([\w-]+)\/\1\.ts$/.exec(path)?.[1];
      const element = tag ? `\ndeclare const element: HTMLElementTagNameMap['tg-${tag}'];` : '';
      writeFileSync(join(place.folder, name), `${body}${element}\nexport {};\n`);
      return name;
    });
    writeFileSync(join(place.folder, 'globals.d.ts'), globals());
    const said = compile(place.folder, [...files, 'globals.d.ts'], {
      tsc: resolve('node_modules/typescript/bin/tsc'),
      moduleResolution: 'bundler',
      // The declarations of other libraries are theirs to check; ours are, in types.node.test.mjs.
      options: { skipLibCheck: true },
    });
    assert.equal(said, '');
  });

  it('examples/ compile', () => {
    cpSync('examples', join(place.folder, 'examples'), { recursive: true });
    const files = listFiles('examples').filter((path) => /\.tsx?$/.test(path));
    const said = compile(place.folder, files, {
      tsc: resolve('node_modules/typescript/bin/tsc'),
      moduleResolution: 'bundler',
      options: { skipLibCheck: true },
    });
    assert.equal(said, '');
  });

  it('API reference: every docstring is understood, and names what there is', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['node_modules/typedoc/bin/typedoc', '--emit', 'none', '--logLevel', 'Warn'],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stdout + stderr);
  });

  it('links between README and docs lead somewhere', () => {
    for (const path of ['README.md', ...listFiles('docs').filter((name) => name.endsWith('.md'))])
      for (const [, target] of readFileSync(path, 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g))
        assert.ok(existsSync(join(dirname(path), target)), `${path} -> ${target}`);
  });
});
