import type { Engine } from '../../request/engine.ts';

/** How a scenario gets its engines: like `createEngine` of the package, which this layer may not import. */
export type CreateScenarioEngine = (options: {
  model: string;
  engine: string;
  /** Run in a worker. @default true */
  worker?: boolean;
  /** Anything more that `createEngine` takes. */
  [option: string]: unknown;
}) => Promise<Engine>;

/** Elements of ours that look on: the dashboard; the overlay, as its one line and as its open card. */
export type ScenarioElement = 'dashboard' | 'overlay' | 'card';

/** What a scenario is given. */
export interface ScenarioContext {
  /** Loads an engine; the scenario disposes of what it loads. */
  createEngine: CreateScenarioEngine;
  /** `tutor`, or a URL. */
  model: string;
  /** Names of the engines that were asked for, at least one. */
  engines: readonly string[];
  /** Options of the command line by their names without dashes (`requests`, `seed`, ...); only those that were given. */
  options: Readonly<Record<string, string | boolean | undefined>>;
  /** Tells how far it is, in steps of the scenario's own. */
  onProgress: (done: number, of: number) => void;
  signal?: AbortSignal;
  /**
   * Loads the page anew and runs the scenario again in it, with `state` (JSON) in {@link ScenarioContext.state}: nothing is left of this run but
   * what the browser keeps on disk. Never resolves. Absent where nobody drives the page.
   */
  reload?: (state: unknown) => Promise<never>;
  /** What {@link ScenarioContext.reload} was given; absent in the first run. */
  state?: unknown;
  /** Puts an element that follows the engine on the page, and gives how to take it away; absent where there is no page. */
  show?: (element: ScenarioElement, engine: Engine) => Promise<() => void>;
  /** CPU time that the main thread of the page has taken so far, ms; absent where nobody can tell. */
  mainThreadMs?: () => Promise<number>;
}

/** What a scenario found: `figures` goes into the JSON as it is, `table` is what people read. */
export interface ScenarioResult {
  /** Flat names to numbers, with units in the names. */
  figures: Record<string, number>;
  /** Markdown. */
  table: string;
}

/** A named experiment that is more than one workload: a reload, two engines that differ in one thing, a diagnosis. */
export type Scenario = (context: ScenarioContext) => Promise<ScenarioResult>;
