// Our tags in the templates of React, Vue and Svelte. They build on dist/ui/element-types.d.ts (tools/elements-manifest.mjs).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { elementTypes, elementsManifest } from './elements-manifest.mjs';

const IMPORT =
  "import type { ElementAttributes, ElementClasses, ElementEvents, ElementProperties } from './element-types.js';";

const REACT = `import type { ClassAttributes, HTMLAttributes } from 'react';
${IMPORT}

type Handlers<Events> = { [Type in keyof Events & string as \`on\${Type}\`]?: ((event: Events[Type]) => void) | undefined };

type Props<Tag extends keyof ElementClasses> = ElementProperties[Tag] &
  ElementAttributes[Tag] &
  Handlers<ElementEvents[Tag]> &
  ClassAttributes<ElementClasses[Tag]> &
  Omit<HTMLAttributes<ElementClasses[Tag]>, keyof ElementProperties[Tag]> & { class?: string | undefined };

type TokenglassTags = { [Tag in keyof ElementClasses]: Props<Tag> };

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements extends TokenglassTags {}
  }
}
`;

const VUE = `import type { EmitFn, HTMLAttributes, PublicProps } from 'vue';
${IMPORT}

type Emits<Events> = EmitFn<{ [Type in keyof Events]: (event: Events[Type]) => void }>;

type Tag<Name extends keyof ElementClasses> = new () => ElementClasses[Name] & {
  /** @deprecated Of Vue's types only: it does not exist. */
  $props: ElementProperties[Name] & ElementAttributes[Name] & Omit<HTMLAttributes, keyof ElementProperties[Name]> & PublicProps;
  /** @deprecated Of Vue's types only: it does not exist. */
  $emit: Emits<ElementEvents[Name]>;
};

type TokenglassTags = { [Name in keyof ElementClasses]: Tag<Name> };

declare module 'vue' {
  interface GlobalComponents extends TokenglassTags {}
}
`;

const SVELTE = `import type { HTMLAttributes } from 'svelte/elements';
${IMPORT}

type Handlers<Events> = {
  [Type in keyof Events & string as \`on\${Type}\` | \`on:\${Type}\`]?: ((event: Events[Type]) => void) | undefined;
};

type Props<Tag extends keyof ElementClasses> = ElementProperties[Tag] &
  ElementAttributes[Tag] &
  Handlers<ElementEvents[Tag]> &
  Omit<HTMLAttributes<ElementClasses[Tag]>, keyof ElementProperties[Tag]>;

type TokenglassTags = { [Tag in keyof ElementClasses]: Props<Tag> };

declare module 'svelte/elements' {
  interface SvelteHTMLElements extends TokenglassTags {}
}
`;

/**
 * Writes custom-elements.json, the declarations of our tags, and a module without code for each framework whose entry is types alone.
 *
 * @param dist - folder of the build
 */
export function writeElementTypes(dist) {
  const described = elementsManifest();
  writeFileSync(join(dist, 'custom-elements.json'), `${JSON.stringify(described.manifest, null, 1)}\n`);
  writeFileSync(join(dist, 'ui/element-types.d.ts'), elementTypes(described));
  writeFileSync(join(dist, 'ui/jsx.d.ts'), REACT);
  writeFileSync(join(dist, 'ui/vue.d.ts'), VUE);
  writeFileSync(join(dist, 'ui/svelte.d.ts'), SVELTE);
  for (const name of ['vue', 'svelte']) writeFileSync(join(dist, `ui/${name}.js`), 'export {};\n');
  const react = join(dist, 'ui/react/index.d.ts');
  writeFileSync(react, `import '../jsx.js';\n${readFileSync(react, 'utf8')}`);
}
