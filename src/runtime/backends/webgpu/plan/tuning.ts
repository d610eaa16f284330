import { createStore, get, set } from 'idb-keyval';
import type { GpuContext } from '../device.ts';
import { record, type Dispatch } from '../kernels/pipeline.ts';

/** Where what was measured is kept; `get` and `set` of idb-keyval do. */
export interface TuningStore {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
}

/** A store in IndexedDB, of this origin; undefined where there is none. */
export function browserTuningStore(): TuningStore | undefined {
  if (typeof indexedDB === 'undefined') return undefined;
  const store = createStore('tokenglass-tuning', 'tiles');
  return { get: (key) => get<unknown>(key, store), set: (key, value) => set(key, value, store) };
}

/** Time after which what is not yet tried stays untried, ms. */
const BUDGET_MS = 1500;
const ROUNDS = 2;

export interface Tuner<Shape, Tile> {
  /** Distinct for shapes that are measured apart. */
  keyOf(shape: Shape): string;
  /** What a store gave, if it is something that a kernel can be made of. */
  check(value: unknown): value is Tile;
  /** Tiles to try, the default one first. */
  candidates(shape: Shape): readonly Tile[];
  /** One measurement's dispatches. */
  bind(shape: Shape, tile: Tile): Promise<readonly Dispatch[]>;
}

/** What measurements are kept under: one entry per adapter, version of the kernels, and kind. */
export function tuningKey({ adapter }: GpuContext, version: string, kind: string): string {
  const { vendor, architecture, description } = adapter;
  return `tokenglass-tuning/${version}/${kind}/${[vendor, architecture, description].join('/')}`;
}

/**
 * The fastest tile of each shape: from the store, or measured on this device and then stored. Shapes that there was no time for are absent.
 */
export async function tune<Shape, Tile>(
  gpu: GpuContext,
  shapes: readonly Shape[],
  tuner: Tuner<Shape, Tile>,
  { store, key, budgetMs = BUDGET_MS }: { store: TuningStore | undefined; key: string; budgetMs?: number | undefined },
): Promise<ReadonlyMap<string, Tile>> {
  // A store that fails costs a measurement, never the model.
  const stored: unknown = await store?.get(key).catch(() => undefined);
  const tuned = new Map<string, Tile>();
  for (const [shape, tile] of Object.entries(typeof stored === 'object' && stored !== null ? stored : {}))
    if (tuner.check(tile)) tuned.set(shape, tile);
  const known = tuned.size;
  const deadline = performance.now() + budgetMs;
  for (const shape of shapes) {
    if (tuned.has(tuner.keyOf(shape)) || performance.now() > deadline) continue;
    const bound = await Promise.all(
      tuner.candidates(shape).map(async (tile) => ({ tile, dispatches: await tuner.bind(shape, tile) })),
    );
    let best: { tile: Tile; ms: number } | undefined;
    for (const { tile, dispatches } of bound) {
      const ms = await fastest(gpu, dispatches);
      if (!best || ms < best.ms) best = { tile, ms };
      if (performance.now() > deadline) break;
    }
    if (best) tuned.set(tuner.keyOf(shape), best.tile);
  }
  if (tuned.size > known) await store?.set(key, Object.fromEntries(tuned)).catch(() => undefined);
  return tuned;
}

/** Milliseconds of the dispatches, the best of a few rounds. */
async function fastest({ device, watchdog }: GpuContext, dispatches: readonly Dispatch[]): Promise<number> {
  let best = Infinity;
  for (let round = 0; round <= ROUNDS; round++) {
    const encoder = device.createCommandEncoder({ label: 'tune' });
    const pass = encoder.beginComputePass({ label: 'tune' });
    for (const dispatch of dispatches) record(pass, dispatch);
    pass.end();
    const commands = encoder.finish();
    const startMs = performance.now();
    device.queue.submit([commands]);
    await watchdog.watch('measure kernels', device.queue.onSubmittedWorkDone());
    // The first round warms up.
    if (round > 0) best = Math.min(best, performance.now() - startMs);
  }
  return best;
}

export function isPower(value: unknown, most: number): value is number {
  return typeof value === 'number' && value >= 1 && value <= most && Number.isInteger(Math.log2(value));
}
