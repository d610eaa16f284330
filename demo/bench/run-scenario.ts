import { createEngine, type EngineName } from '../../src/index.ts';
import { readEnvironment, type Environment } from '../../src/runtime/bench/environment.ts';
import { SCENARIOS } from '../../src/runtime/bench/scenarios/index.ts';
import type { ScenarioContext } from '../../src/runtime/bench/scenarios/scenario.ts';

export interface ScenarioOptions extends Pick<ScenarioContext, 'model' | 'engines' | 'options'> {
  name: string;
  command?: string;
}

/** The JSON of a scenario; its figures are where those of a report are. */
export interface ScenarioReport {
  format: 'tokenglass.scenario/1';
  scenario: string;
  tokenglass: string;
  createdAt: string;
  environment: Environment;
  command?: string;
  model: string;
  engines: readonly string[];
  figures: Record<string, number>;
}

/** @throws RangeError for a name that no scenario has */
export async function runScenario(
  { name, command, model, engines, options }: ScenarioOptions,
  onProgress: ScenarioContext['onProgress'] = () => undefined,
): Promise<{ report: ScenarioReport; table: string }> {
  const scenario = SCENARIOS[name];
  if (!scenario)
    throw new RangeError(
      `Cannot run the scenario "${name}": there is none; take one of ${Object.keys(SCENARIOS).join(', ')}`,
    );
  const { figures, table } = await scenario({
    createEngine: ({ engine, ...load }) => createEngine({ ...load, engine: engine as EngineName }),
    model,
    engines,
    options,
    onProgress,
    showDashboard: async (engine) => (await import('./show-dashboard.ts')).showDashboard(engine),
  });
  const report: ScenarioReport = {
    format: 'tokenglass.scenario/1',
    scenario: name,
    tokenglass: __TOKENGLASS_VERSION__,
    createdAt: new Date().toISOString(),
    environment: await readEnvironment(),
    ...(command !== undefined && { command }),
    model,
    engines,
    figures,
  };
  return { report, table };
}
