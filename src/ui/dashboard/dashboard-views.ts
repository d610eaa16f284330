import type { EngineInfo, ModelInfo } from '../../shared/info.ts';
import { modelNumber } from '../../shared/model-number.ts';
import type { Diagnosis } from '../../runtime/metrics/diagnosis.ts';
import type { DevicePeaks } from '../../runtime/metrics/step-split.ts';
import type { ContextFloor } from '../context-chart/context-chart.ts';
import type { ContextSample } from '../context-chart/context-samples.ts';
import type { MemoryUse } from '../memory/memory.ts';
import type { RooflinePoint } from '../roofline/roofline-range.ts';
import type { Stats } from '../stats/stats.ts';
import type { TokenTick } from '../steps/ticks.ts';
import type { DashboardModel } from './dashboard-model.ts';

/** What changes with each token. */
export interface LiveView {
  stats: Stats;
  ticks: readonly TokenTick[];
}

/** What is computed over many steps. */
export interface DeepView {
  gapsMs: readonly number[];
  of: string;
  samples: readonly ContextSample[];
  points: readonly RooflinePoint[];
  decode?: Diagnosis;
  prefill?: Diagnosis;
  peaks: DevicePeaks;
  floor?: ContextFloor | undefined;
  memory?: MemoryUse;
}

export function readLive(model: DashboardModel, info: EngineInfo | undefined): LiveView {
  const { ttftMs, latency, tokensPerSecond, promptTokens, cachedTokens } = model.figures;
  return {
    stats: {
      ttftMs,
      msPerToken: latency.p50Ms,
      n: latency.n,
      tokensPerSecond,
      prefillTokensPerSecond: model.prefillTokensPerSecond,
      promptTokens,
      cachedTokens,
      memoryBytes: info && memoryBytes(info.model, model.usedTokens ?? 0),
      ...(info?.speculation && { speculation: model.speculation }),
    },
    ticks: model.ticks(info),
  };
}

export function readDeep(model: DashboardModel, info: EngineInfo | undefined, peaks: DevicePeaks): DeepView {
  const { gapsMs, of } = model.gaps();
  const view = { gapsMs, of, samples: model.contextSamples(), peaks };
  if (!info) return { ...view, points: [] };
  const decode = model.diagnose('decode', info, peaks);
  const prefill = model.diagnose('prefill', info, peaks);
  return {
    ...view,
    points: [decode, prefill].flatMap(rooflinePoint),
    decode,
    prefill,
    floor: contextFloor(info.model, peaks),
    memory: memoryUse(info.model, model.usedTokens),
  };
}

/** Where a kind of step is under the roof; nothing where its work is not known. */
function rooflinePoint({ kind, roofline }: Diagnosis): RooflinePoint[] {
  const { intensity, achievedGflops, shareOfFloor } = roofline;
  return intensity === undefined || achievedGflops === undefined
    ? []
    : [{ kind, intensity, gflops: achievedGflops, shareOfFloor }];
}

function memoryBytes(model: ModelInfo, usedTokens: number): number | undefined {
  const [weightBytes, kvBytes] = [modelNumber(model, 'weightBytes'), modelNumber(model, 'kvBytesPerToken')];
  return weightBytes === undefined || kvBytes === undefined ? undefined : weightBytes + usedTokens * kvBytes;
}

function memoryUse(model: ModelInfo, usedTokens: number | undefined): MemoryUse {
  return {
    weightBytes: modelNumber(model, 'weightBytes'),
    kvBytesPerToken: modelNumber(model, 'kvBytesPerToken'),
    contextTokens: modelNumber(model, 'contextTokens'),
    usedTokens,
  };
}

/** Undefined where the model's sizes are not known, or the device was not measured. */
function contextFloor(model: ModelInfo, { bytesPerSecond }: DevicePeaks): ContextFloor | undefined {
  const [weightBytes, kvBytesPerToken] = [modelNumber(model, 'weightBytes'), modelNumber(model, 'kvBytesPerToken')];
  return weightBytes !== undefined && kvBytesPerToken !== undefined && bytesPerSecond !== undefined
    ? { weightBytes, kvBytesPerToken, bytesPerSecond }
    : undefined;
}

/** The model, where it is known well enough to be put on other hardware. */
export function whatIfModel(model: ModelInfo): ModelInfo | undefined {
  const needed = ['parameters', 'layers', 'hiddenSize', 'kvBytesPerToken'] as const;
  return needed.every((name) => modelNumber(model, name) !== undefined) ? model : undefined;
}
