/** The numbers of `docs/metrics.md`, as pure functions of a request's trace. */
export { e2e, e2eResidual, modelE2e, type E2eResidual } from './e2e.ts';
export { feelOf, ITL_FEEL, TTFT_FEEL, type Feel, type FeelThreshold } from './feel.ts';
export { itl } from './itl.ts';
export { LiveLatencyWindow, type LiveLatency } from './live.ts';
export { percentile } from './percentile.ts';
export { decodeRate, prefillRate, systemRate } from './rates.ts';
export { summarize, visibleOnly, type Summary } from './summary.ts';
export { tpot } from './tpot.ts';
export { ttft, ttftParts, TTFT_PARTS, type TtftParts } from './ttft.ts';
