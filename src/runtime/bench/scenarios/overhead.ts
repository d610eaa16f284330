import type { RequestTrace } from '../../../shared/trace.ts';
import type { Engine } from '../../engine/engine.ts';
import { percentile } from '../../metrics/percentile.ts';
import { TraceLog } from '../../metrics/trace-log.ts';
import { tpot } from '../../metrics/tpot.ts';
import { measureRequest } from '../sample.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';

/** Who looks: nobody; a log of all events; a dashboard on the page. */
const MODES = ['off', 'metrics', 'dashboard'] as const;
type Mode = (typeof MODES)[number];

/**
 * What measuring costs: ms/token with nobody listening, with every event recorded, and with a dashboard open on the page. Modes take turns,
 * request by request, and ratios are taken pair by pair.
 *
 * Takes `requests` (in each mode, default 20) and `output-tokens` (default 32).
 */
export const overhead: Scenario = async (context) => {
  const requests = Number(context.options['requests'] ?? 20);
  const outputTokens = Number(context.options['output-tokens'] ?? 32);
  const modes = MODES.filter((mode) => mode !== 'dashboard' || context.showDashboard);
  const figures: Record<string, number> = {};
  const rows: string[] = [];
  let done = 0;
  for (const name of context.engines) {
    const engine = await context.createEngine({ model: context.model, engine: name, prefixCache: false });
    try {
      const tpots: Record<Mode, number[]> = { off: [], metrics: [], dashboard: [] };
      await answer(engine, outputTokens);
      for (let request = 0; request < requests; request++)
        for (const mode of inTurns(modes, request)) {
          context.signal?.throwIfAborted();
          const stop = await watch(context, engine, mode);
          tpots[mode].push(tpot(await answer(engine, outputTokens)) ?? NaN);
          stop();
          context.onProgress(++done, context.engines.length * requests * modes.length);
        }
      const prefix = context.engines.length > 1 ? `${name}.` : '';
      for (const mode of modes) {
        const tpotMs = percentile(tpots[mode], 50)!;
        const toOff = percentile(
          tpots[mode].map((ms, index) => ms / tpots.off[index]!),
          50,
        )!;
        figures[`${prefix}${mode}.tpotMs`] = tpotMs;
        if (mode !== 'off') figures[`${prefix}${mode}.toOff`] = toOff;
        const p95 = percentile(tpots[mode], 95)!;
        rows.push(`| ${[name, mode, tpotMs.toFixed(3), p95.toFixed(3), toOff.toFixed(3), requests].join(' | ')} |`);
      }
    } finally {
      await engine[Symbol.asyncDispose]();
    }
  }
  const header = '| engine | who looks | ms/token p50 | p95 | of off, median of pairs | n |';
  return { figures, table: [header, '|---|---|--:|--:|--:|--:|', ...rows].join('\n') };
};

/** Another mode begins each round, so that none always comes after the same one. */
const inTurns = (modes: readonly Mode[], round: number): Mode[] =>
  modes.map((_, index) => modes[(index + round) % modes.length]!);

async function watch({ showDashboard }: ScenarioContext, engine: Engine, mode: Mode): Promise<() => void> {
  if (mode === 'metrics') return new TraceLog().attach(engine.metrics);
  if (mode === 'dashboard') return showDashboard!(engine);
  return () => undefined;
}

async function answer(engine: Engine, maxTokens: number): Promise<RequestTrace> {
  const request = { prompt: 'The time to first token is', maxTokens, ignoreEos: true, sampling: { temperature: 0 } };
  return (await measureRequest(engine, request)).trace;
}
