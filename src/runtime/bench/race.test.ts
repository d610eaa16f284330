import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import type { Engine } from '../request/engine.ts';
import { runRace, type Contestant, type RaceEvent, type RaceOptions } from './race.ts';
import { SimulatedEngine, type SimulatedService } from './testing/simulated-engine.ts';
import { simulatedWorkload } from './testing/simulated-run.ts';
import { VirtualTimer } from './testing/virtual-timer.ts';

const WORKLOAD = simulatedWorkload({
  promptText: 'What is TTFT?',
  outputLength: { kind: 'fixed', tokens: 4 },
  warmUpRequests: 1,
  stop: { requests: 3 },
});

/** What happened, as `name:what`, without tokens and progress. */
interface Heard {
  log: string[];
  events: { name: string; event: RaceEvent }[];
}

describe('runRace', () => {
  let timer: VirtualTimer;
  let alive: Set<string>;
  /** Most engines that were there at once. */
  let mostAlive: number;

  beforeEach(() => {
    timer = new VirtualTimer();
    alive = new Set();
    mostAlive = 0;
  });
  afterEach(() => timer.close());

  function contestant(name: string, service: Partial<SimulatedService> = {}, loadError?: Error): Contestant {
    return {
      name,
      load: () => {
        if (loadError !== undefined) return Promise.reject(loadError);
        const engine = new SimulatedEngine(timer, { firstTokenMs: 40, tokenMs: 10, ...service });
        engine[Symbol.asyncDispose] = () => Promise.resolve(void alive.delete(name));
        alive.add(name);
        mostAlive = Math.max(mostAlive, alive.size);
        return Promise.resolve<Engine>(engine);
      },
    };
  }

  async function race(contestants: readonly Contestant[], options: Partial<RaceOptions> = {}) {
    const heard: Heard = { log: [], events: [] };
    const entries = await runRace(contestants, {
      workload: WORKLOAD,
      order: 'turns',
      signal: new AbortController().signal,
      timer,
      ...options,
      onEvent: (index, event) => {
        const { name } = contestants[index]!;
        heard.events.push({ name, event });
        if (event.type === 'round') heard.log.push(`${name}${event.warmUp ? ' warm-up' : event.round}`);
        else if (event.type !== 'event' && event.type !== 'load' && event.type !== 'measured')
          heard.log.push(`${name} ${event.type}`);
        options.onEvent?.(index, event);
      },
    });
    return { entries, ...heard };
  }

  it('runRace: in turns all are loaded first, and rounds alternate', async () => {
    const { log, entries } = await race([contestant('A'), contestant('B')]);
    expect(log).to.deep.equal('A loaded,B loaded,A warm-up,B warm-up,A1,B1,A2,B2,A3,A done,B3,B done'.split(','));
    expect(entries.map(({ run }) => run!.requests)).to.deep.equal(Array(2).fill({ completed: 3, failed: 0 }));
    expect(entries.map(({ run }) => run!.conditions.engine.name)).to.deep.equal(['A', 'B']);
    expect(alive.size).to.equal(0);
  });

  it('runRace: apart, one engine is there at a time, and the run says so', async () => {
    const { log, entries } = await race([contestant('A'), contestant('B')], { order: 'apart' });
    expect(log.indexOf('A done')).to.be.below(log.indexOf('B loaded'));
    expect(mostAlive).to.equal(1);
    expect(entries[1]!.run!.notes.map(({ code }) => code)).to.include('one-after-another');
  });

  it('runRace: at once, rounds of all begin together', async () => {
    const { events, entries } = await race([contestant('A'), contestant('B', { tokenMs: 30 })], { order: 'at-once' });
    const begun = (name: string): number[] =>
      events.flatMap((heard) => (heard.name === name && heard.event.type === 'round' ? heard.event.atMs : []));
    expect(begun('A')).to.have.lengthOf(4).and.to.deep.equal(begun('B'));
    expect(entries[0]!.run!.notes.map(({ code }) => code)).to.include('at-once');
  });

  it('runRace: one that cannot be loaded, and one that fails on the way, are told with their errors; the others go on', async () => {
    const missing = new TokenglassError('no-webgpu', 'Cannot run on WebGPU: there is none; use another browser');
    const { log, entries } = await race([
      contestant('A', {}, missing),
      contestant('B'),
      contestant('C', { failAt: 2 }),
    ]);
    expect(log.filter((line) => !line.startsWith('B'))).to.deep.equal(
      'A failed,C loaded,C warm-up,C1,C2,C failed'.split(','),
    );
    expect(entries.map(({ error }) => (error as { code?: string } | undefined)?.code)).to.deep.equal([
      'no-webgpu',
      undefined,
      'numeric-fault',
    ]);
    expect(entries.map(({ run }) => run?.requests.completed)).to.deep.equal([undefined, 3, 1]);
  });

  it('runRace: cancelled, it ends with what was measured, and with no engine left', async () => {
    const controller = new AbortController();
    const { entries, log } = await race([contestant('A'), contestant('B')], {
      signal: controller.signal,
      onEvent: (index, event) => {
        if (index === 1 && event.type === 'measured' && !event.sample.warmUp) controller.abort();
      },
    });
    expect(log.at(-1)).to.equal('B1');
    expect(entries.map(({ run, error }) => [run?.requests.completed, error])).to.deep.equal([
      [1, undefined],
      [1, undefined],
    ]);
    expect(alive.size).to.equal(0);
  });

  it('runRace: cancelled while it loads, nothing was measured and nothing failed', async () => {
    const controller = new AbortController();
    const { entries, log } = await race(
      [
        {
          name: 'A',
          load: ({ signal }) => {
            controller.abort();
            return Promise.reject(signal.reason as Error);
          },
        },
        contestant('B'),
      ],
      { signal: controller.signal },
    );
    expect(log).to.deep.equal([]);
    expect(entries).to.deep.equal([{ name: 'A' }, { name: 'B' }]);
  });

  it('runRace: every token is heard of, also those of the warm-up', async () => {
    const { events } = await race([contestant('A')]);
    const deltas = events.filter(({ event }) => event.type === 'event' && event.event.type === 'delta');
    expect(deltas).to.have.lengthOf(4 * 4);
  });
});
