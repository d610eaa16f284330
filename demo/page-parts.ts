import type { Plugin } from 'vite';

/** The pages of the demo, in the order of their links. */
const PAGES = [
  ['', 'Chat'],
  ['dashboard/', 'Dashboard'],
  ['present/', 'Present'],
  ['race/', 'Race'],
  ['bench/', 'Benchmark'],
] as const;

const HEAD = `<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content" />
    <meta name="color-scheme" content="light dark" />
    <link
      rel="icon"
      href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect x='2' y='2' width='28' height='28' rx='7' fill='%23005c87'/%3E%3Cpath d='M9 23V15M14 23V12M19 23V17M24 23V8' stroke='%23fff' stroke-width='2.6' stroke-linecap='round'/%3E%3C/svg%3E"
    />
    <script>
      // Before the first paint, so that a chosen theme does not flash.
      try {
        const theme = localStorage.getItem('tokenglass-theme');
        if (theme) document.documentElement.dataset.theme = theme;
      } catch {}
    </script>`;

const BRAND = `<h1 class="brand">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect x="2" y="2" width="28" height="28" rx="7" />
          <path d="M9 23V15M14 23V12M19 23V17M24 23V8" />
        </svg>
        Tokenglass
      </h1>`;

/** Relative links, so that the demo can be served from any folder. @param here folder of the page: `''`, `bench/` */
function links(here: string): string {
  const up = here === '' ? './' : '../';
  const link = ([folder, name]: (typeof PAGES)[number]): string =>
    `<a href="${up}${folder}index.html"${folder === here ? ' aria-current="page"' : ''}>${name}</a>`;
  return `<nav class="pages" aria-label="Pages">
        ${PAGES.map(link).join('\n        ')}
      </nav>`;
}

/** Vite plugin: what all pages share stands in each as `<!-- part: head -->` and `<!-- part: masthead -->`, and is put in when they are served or built. */
export function pageParts(): Plugin {
  return {
    name: 'page-parts',
    transformIndexHtml: {
      order: 'pre',
      handler: (html, { path }) => {
        const here = path.replace(/^\//, '').replace(/index\.html$/, '');
        return html
          .replace('<!-- part: head -->', HEAD)
          .replace('<!-- part: masthead -->', `${BRAND}\n      ${links(here)}`);
      },
    },
  };
}
