import type {} from 'tokenglass/svelte';
import type { SvelteHTMLElements } from 'svelte/elements';

export const props: SvelteHTMLElements['tg-chat'] = {
  systemPrompt: 'Be brief.',
  'max-tokens': 3,
  'ontg-error': ({ error }) => console.log(error.code),
};
// @ts-expect-error a number is no prompt
export const wrong: SvelteHTMLElements['tg-chat'] = { systemPrompt: 5 };
