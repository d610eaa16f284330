// axe is a classic script: as a module it exports nothing, but leaves itself on the window.
import 'axe-core';

declare global {
  interface Window {
    axe: typeof import('axe-core');
  }
}

/**
 * What axe finds in an element, serious or critical, as short lines; empty is good. Rules about a whole page do not apply to one
 * element.
 */
export async function seriousViolations(root: Element): Promise<string[]> {
  const { violations } = await window.axe.run(root, {
    rules: { region: { enabled: false }, 'page-has-heading-one': { enabled: false } },
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary ?? ''}`).join(' | ')}`);
}
