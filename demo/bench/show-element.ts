import type { Engine } from '../../src/index.ts';
import { TgDashboard } from '../../src/ui/dashboard/index.ts';

/** Puts a dashboard on top of the page. @returns takes it away */
export async function showDashboard(engine: Engine): Promise<() => void> {
  const dashboard = new TgDashboard();
  dashboard.engine = engine;
  document.body.prepend(dashboard);
  await dashboard.updateComplete;
  return () => dashboard.remove();
}
