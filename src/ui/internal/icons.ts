import { html, svg, type SVGTemplateResult } from 'lit';

const icon = (paths: SVGTemplateResult) =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${paths}</svg>`;

/** Line icons, 24 units, drawn in the colour of the text. The words beside them or their label carry the meaning. */
export const icons = {
  send: icon(svg`<path d="M12 19V5M6 11l6-6 6 6" />`),
  stop: icon(svg`<rect x="6.5" y="6.5" width="11" height="11" rx="1.5" fill="currentColor" />`),
  copy: icon(
    svg`<rect x="9" y="9" width="11" height="11" rx="2" /><path d="M5.5 15H5a1.5 1.5 0 0 1-1.5-1.5v-9A1.5 1.5 0 0 1 5 3h9a1.5 1.5 0 0 1 1.5 1.5V5" />`,
  ),
  done: icon(svg`<path d="M5 12.5l4.5 4.5L19 7.5" />`),
  again: icon(svg`<path d="M20 11a8 8 0 1 0-2.3 6.2M20 5v6h-6" />`),
  plus: icon(svg`<path d="M12 5v14M5 12h14" />`),
  down: icon(svg`<path d="M12 5v14M6 13l6 6 6-6" />`),
  chevron: icon(svg`<path d="M7 10l5 5 5-5" />`),
  arrow: icon(svg`<path d="M5 12h14M13 6l6 6-6 6" />`),
  ticks: icon(svg`<path d="M4 20v-6M9.3 20v-9M14.6 20V4M20 20v-7" />`),
  warning: icon(svg`<path d="M12 4 2.8 19.5h18.4zM12 10v4.5M12 17.2v.1" />`),
} as const;
