import { html, nothing } from 'lit';
import type { FeelThreshold } from '../../runtime/metrics/feel.ts';
import type { Figure } from './format.ts';

/** Digits for the eye, words for the ear. */
export const renderFigure = ({ value, unit, spoken }: Figure) => html`
  <span class="figure">
    <span aria-hidden="true"><b>${value}</b>${unit === '' ? nothing : html`<span class="unit"> ${unit}</span>`}</span>
    <span class="sr-only">${spoken}</span>
  </span>
`;

/** A word and a shape besides the colour. */
export const renderFeel = (feel: FeelThreshold | undefined) =>
  feel
    ? html`<span class="feel ${feel.feel}"><i aria-hidden="true"></i>${feel.words.replace(/^is /, '')}</span>`
    : nothing;
