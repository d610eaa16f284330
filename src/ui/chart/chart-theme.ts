/** Colours and typeface as a canvas needs them: computed, without custom properties. */
export interface ChartTheme {
  font: string;
  /** A token of the visual language: `colour('ink-3')`, `colour('part-prefill')`. */
  colour: (token: string) => string;
}

/**
 * Reads the theme where `probe` stands. Custom properties do not compute to colours, so each is read off an element that has it as its
 * colour.
 *
 * @param probe - an element in the shadow root, which is changed meanwhile
 */
export function readChartTheme(probe: HTMLElement): ChartTheme {
  const known = new Map<string, string>();
  // Where motion is reduced, controls.ts gives every element a short transition, at whose start a colour still computes to the one before.
  probe.style.setProperty('transition', 'none', 'important');
  const { fontFamily } = getComputedStyle(probe);
  return {
    font: `11px ${fontFamily}`,
    colour: (token) => {
      let colour = known.get(token);
      if (colour === undefined) {
        // Under a forced palette lines and digits take its colours; parts keep theirs, as in the legend, or all would be one.
        probe.style.forcedColorAdjust = token.startsWith('part-') ? 'none' : '';
        probe.style.color = `var(--_${token})`;
        colour = getComputedStyle(probe).color;
        probe.style.color = probe.style.forcedColorAdjust = '';
        known.set(token, colour);
      }
      return colour;
    },
  };
}
