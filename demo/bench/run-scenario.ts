import { createEngine, type EngineName } from '../../src/index.ts';
import { readEnvironment, type Environment } from '../../src/runtime/bench/environment.ts';
import { SCENARIOS } from '../../src/runtime/bench/scenarios/index.ts';
import type { ScenarioContext } from '../../src/runtime/bench/scenarios/scenario.ts';

export interface ScenarioOptions extends Pick<ScenarioContext, 'model' | 'engines' | 'options'> {
  name: string;
  command?: string;
  /** True if the caller loads the page anew when it is given a {@link ScenarioReload}. @default false */
  reloads?: boolean;
  /** Of the {@link ScenarioReload} before. */
  state?: unknown;
}

/** The page is to be loaded anew, and the scenario to be run again with this state. */
export interface ScenarioReload {
  reload: { state: unknown };
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
  { name, command, model, engines, options, reloads = false, state }: ScenarioOptions,
  onProgress: ScenarioContext['onProgress'] = () => undefined,
): Promise<{ report: ScenarioReport; table: string } | ScenarioReload> {
  const scenario = SCENARIOS[name];
  if (!scenario)
    throw new RangeError(
      `Cannot run the scenario "${name}": there is none; take one of ${Object.keys(SCENARIOS).join(', ')}`,
    );
  let leave: ((left: ScenarioReload) => void) | undefined;
  const left = new Promise<ScenarioReload>((resolve) => (leave = resolve));
  const running = scenario({
    createEngine: ({ engine, ...load }) => createEngine({ ...load, engine: engine as EngineName }),
    model,
    engines,
    options,
    onProgress,
    show: async (element, engine) => (await import('./show-element.ts')).showElement(element, engine),
    ...(window.tokenglassMainThreadMs && { mainThreadMs: window.tokenglassMainThreadMs }),
    ...(reloads && {
      reload: (next) => {
        leave?.({ reload: { state: next } });
        return new Promise<never>(() => undefined);
      },
    }),
    ...(state !== undefined && { state }),
  });
  const result = await Promise.race([running, left]);
  if ('reload' in result) return result;
  const { figures, table } = result;
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
