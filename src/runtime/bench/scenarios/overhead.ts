import type { RequestTrace } from '../../../shared/trace.ts';
import type { Engine } from '../../request/engine.ts';
import { percentile } from '../../metrics/percentile.ts';
import { TraceLog } from '../../metrics/trace-log.ts';
import { tpot } from '../../metrics/tpot.ts';
import { measureRequest } from '../sample.ts';
import type { Scenario, ScenarioContext, ScenarioElement } from './scenario.ts';

/** Who looks: nobody; a log of all events; an element on the page. */
type Mode = 'off' | 'metrics' | ScenarioElement;
const MODES: readonly Mode[] = ['off', 'metrics', 'overlay', 'card', 'dashboard'];
const WITHOUT_PAGE: readonly Mode[] = ['off', 'metrics'];

/** One answer. */
interface Cost {
  tpotMs: number;
  /** CPU time of the page's main thread by the time the answer took; NaN where nobody can tell. */
  mainThreadShare: number;
}

/**
 * What measuring costs: ms/token, and the share of the page's main thread, with nobody listening, with every event recorded, with the overlay
 * as one line and as an open card, and with a dashboard open on the page. Modes take turns, request by request, and each is held against
 * the request of the same round that nobody watched. The model is in a worker: what the main thread does is what the page pays for looking,
 * and of each frame it is that share. (Drawing on the GPU, and the browser's own raster threads, are not in it.)
 *
 * Takes `requests` (in each mode, default 20) and `output-tokens` (default 32).
 */
export const overhead: Scenario = async (context) => {
  const requests = Number(context.options['requests'] ?? 20);
  const outputTokens = Number(context.options['output-tokens'] ?? 32);
  const modes = context.show ? MODES : WITHOUT_PAGE;
  const figures: Record<string, number> = {};
  const rows: string[] = [];
  let done = 0;
  for (const name of context.engines) {
    const engine = await context.createEngine({ model: context.model, engine: name, prefixCache: false });
    try {
      const costs = new Map<Mode, Cost[]>(modes.map((mode) => [mode, []]));
      for (const mode of modes) await measure(context, engine, mode, outputTokens); // warm-up
      for (let request = 0; request < requests; request++)
        for (const mode of inTurns(modes, request)) {
          context.signal?.throwIfAborted();
          costs.get(mode)!.push(await measure(context, engine, mode, outputTokens));
          context.onProgress(++done, context.engines.length * requests * modes.length);
        }
      const prefix = context.engines.length > 1 ? `${name}.` : '';
      const off = costs.get('off')!;
      for (const mode of modes) {
        const own = costs.get(mode)!;
        const ofMode = (value: (cost: Cost, unwatched: Cost) => number, p = 50): number =>
          percentile(
            own.map((cost, index) => value(cost, off[index]!)),
            p,
          )!;
        const tpotMs = ofMode((cost) => cost.tpotMs);
        const toOff = ofMode((cost, unwatched) => cost.tpotMs / unwatched.tpotMs);
        const share = ofMode((cost) => cost.mainThreadShare);
        const added = ofMode((cost, unwatched) => cost.mainThreadShare - unwatched.mainThreadShare);
        figures[`${prefix}${mode}.tpotMs`] = tpotMs;
        if (mode !== 'off') figures[`${prefix}${mode}.toOff`] = toOff;
        if (context.mainThreadMs) {
          figures[`${prefix}${mode}.mainThreadShare`] = share;
          if (mode !== 'off') figures[`${prefix}${mode}.mainThreadShareAdded`] = added;
        }
        const cells = [tpotMs.toFixed(3), ofMode((cost) => cost.tpotMs, 95).toFixed(3), toOff.toFixed(3)];
        rows.push(`| ${[name, mode, ...cells, percent(share), percent(added), requests].join(' | ')} |`);
      }
    } finally {
      await engine[Symbol.asyncDispose]();
    }
  }
  const header =
    '| engine | who looks | ms/token p50 | p95 | of off, median of pairs | main thread | more than off | n |';
  return { figures, table: [header, '|---|---|--:|--:|--:|--:|--:|--:|', ...rows].join('\n') };
};

const percent = (share: number): string => (Number.isNaN(share) ? '' : `${(share * 100).toFixed(2)} %`);

/** Another mode begins each round, so that none always comes after the same one. */
const inTurns = (modes: readonly Mode[], round: number): Mode[] =>
  modes.map((_, index) => modes[(index + round) % modes.length]!);

async function measure(context: ScenarioContext, engine: Engine, mode: Mode, outputTokens: number): Promise<Cost> {
  const stop = await watch(context, engine, mode);
  try {
    const beforeMs = await context.mainThreadMs?.();
    const startMs = performance.now();
    const trace = await answer(engine, outputTokens);
    const tookMs = performance.now() - startMs;
    const afterMs = await context.mainThreadMs?.();
    const mainThreadShare = beforeMs === undefined || afterMs === undefined ? NaN : (afterMs - beforeMs) / tookMs;
    return { tpotMs: tpot(trace) ?? NaN, mainThreadShare };
  } finally {
    stop();
  }
}

async function watch({ show }: ScenarioContext, engine: Engine, mode: Mode): Promise<() => void> {
  if (mode === 'off') return () => undefined;
  if (mode === 'metrics') return new TraceLog().attach(engine.metrics);
  return show!(mode, engine);
}

async function answer(engine: Engine, maxTokens: number): Promise<RequestTrace> {
  const request = { prompt: 'The time to first token is', maxTokens, ignoreEos: true, sampling: { temperature: 0 } };
  return (await measureRequest(engine, request)).trace;
}
