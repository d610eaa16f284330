import { makeReport } from '../../src/runtime/bench/make-report.ts';
import { runRace, type RaceOrder } from '../../src/runtime/bench/race.ts';
import type { Report, Run } from '../../src/runtime/bench/report.ts';
import { ScreenAwake } from '../bench/page-watch.ts';
import { runNames } from './contenders.ts';
import { Lane } from './lane.ts';
import { ServerKeys } from './server-keys.ts';
import { readRaceSetup, workloadOf, writeRaceSetup, type RaceSetup } from './setup.ts';

/** What a race came to. */
export interface RaceOutcome {
  /** Of those that measured something, in the order of the columns. */
  report: Report;
  order: RaceOrder;
  cancelled: boolean;
}

/** A race without its looks: its set-up, its columns, and what came of it. */
export class RaceSession {
  setup: RaceSetup;
  lanes: Lane[] = [];
  outcome: RaceOutcome | undefined;
  /** What goes on or went wrong, in words. */
  status = '';
  failed = false;
  readonly keys = new ServerKeys();
  readonly #onChange: () => void;
  #abort: AbortController | undefined;

  constructor(search: string, onChange: () => void) {
    this.#onChange = onChange;
    try {
      this.setup = readRaceSetup(search);
    } catch (error) {
      this.setup = readRaceSetup('');
      this.#say(error instanceof Error ? error.message : String(error), true);
    }
    this.#reset();
  }

  get running(): boolean {
    return this.#abort !== undefined;
  }

  /** The address that sets the page up as it is. */
  get address(): string {
    const url = new URL(location.href);
    url.search = writeRaceSetup(this.setup);
    url.hash = '';
    return url.href;
  }

  change(changes: Partial<RaceSetup>): void {
    if (this.running) return;
    this.setup = { ...this.setup, ...changes };
    history.replaceState(null, '', this.address);
    this.#reset();
    this.#say('');
  }

  cancel(): void {
    this.#abort?.abort();
  }

  /** Runs the race; resolves when all engines are gone. Never rejects. */
  async run(): Promise<void> {
    if (this.running || this.setup.specs.length < 2) return;
    const abort = (this.#abort = new AbortController());
    const { setup, keys } = this;
    this.#reset();
    this.#say('Loading');
    const awake = new ScreenAwake();
    try {
      await awake.hold();
      const contestants = setup.specs.map(({ kind, settings }, index) => ({
        name: this.lanes[index]!.name,
        load: (hooks: Parameters<Parameters<typeof runRace>[0][number]['load']>[0]) => {
          this.#say(`Loading ${kind.name}`);
          return kind.load(settings, { ...hooks, model: setup.model, keys });
        },
      }));
      const entries = await runRace(contestants, {
        workload: workloadOf(setup),
        order: setup.order,
        signal: abort.signal,
        onEvent: (index, event) => {
          this.lanes[index]!.hear(event);
          if (event.type === 'round') this.#sayRound(index, event.round, event.warmUp);
          this.#onChange();
        },
      });
      await this.#conclude(
        entries.flatMap(({ run }) => run ?? []),
        abort.signal.aborted,
      );
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error), true);
    } finally {
      this.#abort = undefined;
      for (const lane of this.lanes) lane.stop();
      await awake.release();
      this.#onChange();
    }
  }

  async #conclude(runs: readonly Run[], cancelled: boolean): Promise<void> {
    if (runs.length === 0) {
      this.#say(cancelled ? 'Cancelled; nothing was measured.' : 'Nobody came through.', !cancelled);
      return;
    }
    // The prompt was a text; how long it is, the first one has told.
    const tokens = Math.max(
      1,
      ...runs.flatMap(({ samples }) => samples.map(({ promptTokens }) => promptTokens)).slice(0, 1),
    );
    const told = runs.map((run) => ({
      ...run,
      conditions: { ...run.conditions, promptLength: { kind: 'fixed' as const, tokens } },
    }));
    const { order } = this.setup;
    const report = await makeReport(told, {
      version: __TOKENGLASS_VERSION__,
      command: this.address,
      inTurns: order === 'turns',
    });
    this.outcome = { report, order, cancelled };
    this.#say(cancelled ? 'Cancelled; what was measured so far is below.' : 'The race is over.');
  }

  #sayRound(index: number, round: number, warmUp: boolean): void {
    const { warmUp: before, rounds, order, specs } = this.setup;
    const who = order === 'at-once' ? '' : `${specs[index]!.kind.name}: `;
    this.#say(`${who}${warmUp ? 'warm-up, left out' : `round ${round - before + 1} of ${rounds}`}`);
  }

  #reset(): void {
    const names = runNames(this.setup.specs);
    this.lanes = names.map((name) => new Lane(name));
    this.outcome = undefined;
  }

  #say(status: string, failed = false): void {
    this.status = status;
    this.failed = failed;
    this.#onChange();
  }
}
