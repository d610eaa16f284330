/** The numbers of `docs/metrics.md`, as pure functions of what was traced. */
export { chromeTrace, type ChromeTrace, type ChromeTraceEvent, type TraceContent } from './chrome-trace.ts';
export { DeliveryLog, deliveryMs, pageStalls, type Delivery, type PageStall } from './delivery.ts';
export { diagnose, type Certainty, type Diagnosis, type Verdict } from './diagnosis.ts';
export { DEVICES, findDevice, type ArithmeticFormat, type DeviceSpec } from './devices.ts';
export { e2e, e2eResidual, modelE2e, type E2eResidual } from './e2e.ts';
export { feelOf, ITL_FEEL, TTFT_FEEL, type Feel, type FeelThreshold } from './feel.ts';
export {
  GEN_AI_PROVIDER,
  genAiMeasurements,
  genAiSpanAttributes,
  type Attributes,
  type AttributeValue,
  type GenAiMeasurement,
  type GenAiRequest,
} from './gen-ai-attributes.ts';
export {
  decodeOn,
  EXAMPLE_MODELS,
  prefillOn,
  type StepForecast,
  type WhatIfModel,
  type WhatIfSetup,
} from './hardware-what-if.ts';
export { itl } from './itl.ts';
export { LiveLatencyWindow, type LiveLatency } from './live.ts';
export { percentile } from './percentile.ts';
export { findPrecision, PRECISIONS, weightBytesOf, type Precision, type PrecisionId } from './precision.ts';
export { probeCpu, type CpuProbeOptions } from './probe/cpu-probe.ts';
export { peaksOf, type DeviceProbe, type Measurement, type ProbeField } from './probe/device-probe.ts';
export { probeGpu, type GpuProbeOptions } from './probe/gpu-probe.ts';
export { probeKey, probeOnce, type ProbeStore } from './probe/probe-store.ts';
export { decodeRate, prefillRate, systemRate } from './rates.ts';
export { EXPLAINED_WITHIN_MS, requestBreakdown, type RequestBreakdown, type StepStretch } from './request-breakdown.ts';
export {
  attainableFlopPerSecond,
  roofline,
  stepWork,
  type ModelSize,
  type Roofline,
  type RooflinePeaks,
  type StepWork,
  type Work,
} from './roofline.ts';
export {
  splitStep,
  STEP_SHARES,
  type DevicePeaks,
  type DiagnosisContext,
  type StepParts,
  type StepShare,
  type StepSplit,
} from './step-split.ts';
export { stepEndMs, stepWindow, type StepWindow } from './step-window.ts';
export { summarize, visibleOnly, type Summary } from './summary.ts';
export { tpot } from './tpot.ts';
export {
  TraceLog,
  type RecordedRequest,
  type RecordedStep,
  type TraceEvents,
  type TraceLogOptions,
  type TraceSource,
} from './trace-log.ts';
export { wasPageHidden } from '../../shared/page-hidden.ts';
export { ttft, ttftParts, TTFT_PARTS, type TtftParts } from './ttft.ts';
export { UserTimingWriter, type DevToolsTrackEntry, type UserTiming, type UserTimingOptions } from './user-timing.ts';
export {
  costPerMillionTokens,
  forecast,
  solveSlo,
  type LatencyForecast,
  type LatencyScenario,
  type SloAnswer,
  type SloQuestion,
} from './what-if.ts';
