// custom-elements.json, made of the elements' JSDoc, and from it what React, Vue and Svelte need to know of our tags.
import { create, ts } from '@custom-elements-manifest/analyzer';
import { litPlugin } from '@custom-elements-manifest/analyzer/src/features/framework-plugins/lit/lit.js';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { listFiles } from './files.mjs';

const built = (path) => path.replace(/^\/?src\//, 'dist/').replace(/\.ts$/, '.js');

/** Classes of our events, by type: as `HTMLElementEventMap` has them. */
function eventClasses(sources) {
  const found = new Map();
  for (const { path, text } of sources)
    for (const [, block] of text.matchAll(/interface HTMLElementEventMap \{([^}]*)\}/g))
      for (const [, type, name] of block.matchAll(/'([^']+)': (\w+);/g)) found.set(type, { name, path });
  return found;
}

/** What a page may use of an element: no private member, no state, no handler. */
function publicPart(declaration, events) {
  const members = (declaration.members ?? []).filter(({ privacy, name, static: isStatic }) => {
    return privacy !== 'private' && privacy !== 'protected' && !name.startsWith('_') && !isStatic;
  });
  const names = new Set(members.map(({ name }) => name));
  return {
    ...declaration,
    members,
    attributes: (declaration.attributes ?? []).filter(({ fieldName }) => names.has(fieldName)),
    events: (declaration.events ?? [])
      .filter(({ name }) => events.has(name))
      .map((event) => ({ ...event, type: { text: events.get(event.name).name } })),
  };
}

/** @returns the manifest (schema 1.0.0) of every element in `src/ui`, its paths those of the build */
export function elementsManifest() {
  const sources = listFiles('src/ui')
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|\/testing\/|\/react\//.test(path))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
  const modules = sources.map(({ path, text }) => ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true));
  const manifest = create({ modules, plugins: litPlugin() });
  const events = eventClasses(sources);
  const elements = manifest.modules.flatMap((module) => {
    const declarations = module.declarations.filter(({ customElement }) => customElement);
    if (declarations.length === 0) return [];
    const exports = module.exports.filter(({ declaration }) =>
      declarations.some(({ name }) => name === declaration.name),
    );
    return [
      {
        ...module,
        path: built(module.path),
        declarations: declarations.map((declaration) => publicPart(declaration, events)),
        exports: exports.map((entry) => ({
          ...entry,
          declaration: { ...entry.declaration, module: built(entry.declaration.module ?? module.path) },
        })),
      },
    ];
  });
  return { manifest: { ...manifest, modules: elements }, events };
}

/** Fields that a page sets; where an attribute of another field has the same name, the attribute is meant. */
const settable = ({ members, attributes }) =>
  members
    .filter(({ kind, readonly }) => kind === 'field' && !readonly)
    .map(({ name }) => name)
    .filter((field) => attributes.every(({ name, fieldName }) => name !== field || name === fieldName));

/** Attributes that are not called as their property is; that one is typed already. */
const ownAttributes = (element) =>
  element.attributes.filter(({ name, fieldName }) => name !== fieldName && !settable(element).includes(name));

const block = (lines) => lines.map((line) => `  ${line}`).join('\n');

/** The declarations that all three frameworks build on: properties, attributes and events of each tag. */
export function elementTypes({ manifest, events }) {
  const elements = manifest.modules.flatMap(({ path, declarations }) =>
    declarations.map((declaration) => ({ ...declaration, path })),
  );
  const relative = (path) => `./${posix.relative('dist/ui', built(path))}`;
  const classes = elements.map(({ name, path }) => `import type { ${name} } from '${relative(path)}';`);
  const used = new Map(elements.flatMap((element) => element.events.map(({ name }) => [name, events.get(name)])));
  const imports = [...used.values()].map(({ name, path }) => `import type { ${name} } from '${relative(path)}';`);
  const rows = (valueOf) => block(elements.map((element) => `'${element.tagName}': ${valueOf(element)};`));
  const union = (names) => names.map((name) => `'${name}'`).join(' | ') || 'never';
  const record = (pairs) => `{ ${pairs.map(([name, type]) => `'${name}'${type}`).join('; ')} }`.replace('{  }', '{}');
  return `${[...classes, ...new Set(imports)].join('\n')}

/** The class of each tag. */
export interface ElementClasses {
${rows(({ name }) => name)}
}

type Settable<Element, Name extends keyof Element> = { [Property in Name]?: Element[Property] | undefined };

/** Properties of each element that a page sets. */
export interface ElementProperties {
${rows((element) => `Settable<${element.name}, ${union(settable(element))}>`)}
}

/** Attributes of each element that are not called as its property is. */
export interface ElementAttributes {
${rows((element) => record(ownAttributes(element).map(({ name }) => [name, '?: string | number | boolean | undefined'])))}
}

/** Events of each element. */
export interface ElementEvents {
${rows((element) => record(element.events.map(({ name }) => [name, `: ${events.get(name).name}`])))}
}
`;
}
