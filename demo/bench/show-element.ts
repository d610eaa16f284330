import type { Engine } from '../../src/index.ts';
import type { ScenarioElement } from '../../src/runtime/bench/scenarios/scenario.ts';
import { TgDashboard } from '../../src/ui/dashboard/index.ts';
import { TgOverlay } from '../../src/ui/index.ts';

/** Puts an element that follows the engine on top of the page. @returns takes it away */
export async function showElement(name: ScenarioElement, engine: Engine): Promise<() => void> {
  const element = name === 'dashboard' ? new TgDashboard() : new TgOverlay();
  element.engine = engine;
  if (element instanceof TgOverlay) element.open = name === 'card';
  document.body.prepend(element);
  await element.updateComplete;
  return () => element.remove();
}
