// What consumers' compilers make of our declarations. `npm run types:versions` asks other versions of TypeScript the same.
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { elementsManifest } from '../elements-manifest.mjs';
import { listFiles } from '../files.mjs';
import { compile, consumerFolder } from './consumer-folder.mjs';

const CONSUMER = resolve(import.meta.dirname, 'consumer');

describe('declarations', () => {
  let place;
  before(() => {
    place = consumerFolder();
    cpSync(CONSUMER, place.folder, { recursive: true });
  });
  after(() => place.remove());

  for (const moduleResolution of ['bundler', 'node16'])
    it(`declarations: strict pages, React, Vue and Svelte compile with moduleResolution ${moduleResolution}`, () => {
      const said = compile(place.folder, readdirSync(CONSUMER), {
        tsc: resolve('node_modules/typescript/bin/tsc'),
        moduleResolution,
      });
      assert.equal(said, '');
    });

  it('declarations: name files as Node does, and only those that an entry leads to', () => {
    const dist = join(place.folder, 'node_modules/tokenglass/dist');
    const declarations = listFiles(dist).filter((path) => path.endsWith('.d.ts'));
    assert.ok(declarations.length < 300, `${declarations.length} declarations`);
    for (const path of declarations)
      assert.doesNotMatch(readFileSync(path, 'utf8'), /from '\.[^']*(?<!\.d)\.ts'/, path);
  });
});

describe('custom-elements.json', () => {
  const { manifest, events } = elementsManifest();
  const elements = manifest.modules.flatMap(({ declarations }) => declarations);

  it('custom-elements.json: has every element that is defined, with a summary', () => {
    const defined = listFiles('src/ui')
      .filter((path) => !/\.test\.ts$|\/testing\//.test(path))
      .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/customElements\.define\('([^']+)'/g)])
      .map(([, tag]) => tag);
    assert.deepEqual(elements.map(({ tagName }) => tagName).sort(), defined.sort());
    for (const { tagName, summary } of elements) assert.ok(summary, `<${tagName}> has no @summary`);
  });

  it('custom-elements.json: has each event that an element dispatches, and no private member', () => {
    const dispatched = (path) => {
      const source = readFileSync(path.replace(/^dist/, 'src').replace(/\.js$/, '.ts'), 'utf8');
      return [...events].filter(([, { name }]) => source.includes(`dispatchEvent(new ${name}`)).map(([type]) => type);
    };
    for (const { path, declarations } of manifest.modules)
      for (const { tagName, events: described, members } of declarations) {
        const names = described.map(({ name }) => name);
        assert.deepEqual(
          dispatched(path).filter((type) => !names.includes(type)),
          [],
          `<${tagName}>: events without @event`,
        );
        assert.deepEqual(
          members.filter(({ name, privacy }) => name.startsWith('#') || privacy === 'private'),
          [],
        );
      }
  });

  it('custom-elements.json: every property has a description', () => {
    for (const { tagName, members } of elements)
      for (const { kind, name, description } of members)
        if (kind === 'field') assert.ok(description, `<${tagName}> ${name} has no description`);
  });
});
