// What every page is held to, light and dark, on a phone and on a desk.
import assert from 'node:assert/strict';

/** Runs in the page. */
async function seriousViolations() {
  const { violations } = await window.axe.run();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

/**
 * Asserts that axe finds nothing serious in the page as it stands, and that nothing of it scrolls sideways. It is left dark, at the last of `widths`.
 *
 * @param show - called at each width in each scheme before the page is looked at
 */
export async function assertAccessible(page, { widths = [360, 1440], show } = {}) {
  await page.addScriptTag({ path: 'node_modules/axe-core/axe.min.js' });
  for (const colorScheme of ['light', 'dark'])
    for (const width of widths) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await show?.();
      assert.deepEqual(await page.evaluate(seriousViolations), [], `${colorScheme} ${width}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
    }
}
