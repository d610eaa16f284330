import { css } from 'lit';

/**
 * The visual language of Tokenglass, as custom properties. Elements read the private `--_x` names; a page sets the public
 * `--tg-x` ones. Colours come in pairs through `light-dark()`, so an element follows the `color-scheme` of the page it is
 * in, and a page (or the `theme` attribute of one element) can force either.
 *
 * Text colours hold 4.5:1 on every surface here, figures 7:1. The six part colours and the three feel colours are told apart
 * by lightness as well as by hue (they start from the Okabe-Ito set), and are never the only sign.
 *
 * @cssproperty --tg-font - Typeface of text
 * @cssproperty --tg-font-mono - Typeface of code and names
 * @cssproperty --tg-text-size - Size that everything scales from (default 1rem)
 * @cssproperty --tg-ink, --tg-ink-2, --tg-ink-3 - Text, secondary text, captions
 * @cssproperty --tg-surface, --tg-raised, --tg-sunken - Backgrounds: of the element, of cards, of wells
 * @cssproperty --tg-line, --tg-line-strong - Hairlines and outlines of controls
 * @cssproperty --tg-accent, --tg-on-accent, --tg-accent-soft - The one colour for action and focus
 * @cssproperty --tg-good, --tg-fair, --tg-poor - Feel: instant, readable, lagging
 * @cssproperty --tg-part-queue, --tg-part-tokenize, --tg-part-cache, --tg-part-prefill, --tg-part-sample, --tg-part-delivery - Parts of TTFT
 * @cssproperty --tg-radius - Corner radius
 */
export const tokens = css`
  :host {
    --_font: var(
      --tg-font,
      -apple-system,
      'Segoe UI Variable Text',
      'Segoe UI',
      Roboto,
      Cantarell,
      'Noto Sans',
      'Liberation Sans',
      system-ui,
      sans-serif
    );
    --_mono: var(
      --tg-font-mono,
      ui-monospace,
      'SF Mono',
      'Cascadia Mono',
      'Roboto Mono',
      'Noto Sans Mono',
      'Liberation Mono',
      monospace
    );

    --_size: var(--tg-text-size, 1rem);
    --_text-xs: calc(var(--_size) * 0.75);
    --_text-sm: calc(var(--_size) * 0.8125);
    --_text-md: calc(var(--_size) * 0.9375);
    --_text-lg: calc(var(--_size) * 1.125);
    --_text-xl: calc(var(--_size) * 1.5);
    --_text-2xl: calc(var(--_size) * 2);
    --_text-figure: calc(var(--_size) * 3.25);

    --_ink: var(--tg-ink, light-dark(#0f1719, #f0f4f5));
    --_ink-2: var(--tg-ink-2, light-dark(#3f4c50, #bccacf));
    --_ink-3: var(--tg-ink-3, light-dark(#596669, #93a3a8));
    --_surface: var(--tg-surface, light-dark(#fbfcfc, #0f1517));
    --_raised: var(--tg-raised, light-dark(#ffffff, #161e21));
    --_sunken: var(--tg-sunken, light-dark(#eff3f3, #1c2629));
    --_line: var(--tg-line, light-dark(#dbe2e3, #2a363a));
    --_line-strong: var(--tg-line-strong, light-dark(#7d8b8f, #6d7d82));
    --_accent: var(--tg-accent, light-dark(#005c87, #63c4f0));
    --_on-accent: var(--tg-on-accent, light-dark(#ffffff, #04202c));
    --_accent-soft: var(--tg-accent-soft, light-dark(#e2f0f7, #102e3c));

    --_good: var(--tg-good, light-dark(#00705a, #3fd1aa));
    --_fair: var(--tg-fair, light-dark(#7d5600, #f2bd42));
    --_poor: var(--tg-poor, light-dark(#ad3800, #ff9166));

    --_part-queue: var(--tg-part-queue, light-dark(#8a979b, #7f8d92));
    --_part-tokenize: var(--tg-part-tokenize, light-dark(#b8578f, #d98ab8));
    --_part-cache: var(--tg-part-cache, light-dark(#009e73, #2fbf94));
    --_part-prefill: var(--tg-part-prefill, light-dark(#0069a8, #4a9fd8));
    --_part-sample: var(--tg-part-sample, light-dark(#dd9200, #f0b429));
    --_part-delivery: var(--tg-part-delivery, light-dark(#66bdec, #a5dcf8));

    --_space-1: 0.25rem;
    --_space-2: 0.5rem;
    --_space-3: 0.75rem;
    --_space-4: 1rem;
    --_space-5: 1.5rem;
    --_space-6: 2rem;
    --_space-7: 3rem;
    --_radius: var(--tg-radius, 0.5rem);
    --_ease: cubic-bezier(0.2, 0, 0, 1);

    box-sizing: border-box;
    color: var(--_ink);
    font-family: var(--_font);
    font-size: var(--_text-md);
    line-height: 1.55;
    text-size-adjust: 100%;
  }

  :host([theme='light']) {
    color-scheme: light;
  }

  :host([theme='dark']) {
    color-scheme: dark;
  }

  :host([hidden]) {
    display: none !important;
  }

  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
`;
