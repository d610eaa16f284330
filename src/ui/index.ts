/** The elements of Tokenglass. Importing this registers them. */
export { TgAssistant } from './assistant/assistant.ts';
export { TgChat } from './chat/chat.ts';
export { TgComposer } from './composer/composer.ts';
export { TgCopyButton } from './copy-button/copy-button.ts';
export { TgContextChart, type ContextFloor } from './context-chart/context-chart.ts';
export { TgDashboard } from './dashboard/dashboard.ts';
export { measureDevice } from './dashboard/measure-device.ts';
export { TgDataTable, type DataTable } from './data-table/data-table.ts';
export { TgItlChart } from './itl-chart/itl-chart.ts';
export { compareWords, type LaneFigures } from './lane/compare-words.ts';
export { TgLane } from './lane/lane.ts';
export { TgLoad } from './load/load.ts';
export { TgMarkdown } from './markdown/markdown.ts';
export { TgMemory, type MemoryUse } from './memory/memory.ts';
export { TextStream } from './markdown/text-stream.ts';
export { TgOverlay } from './overlay/overlay.ts';
export { TgPartsBar, type Part } from './parts-bar/parts-bar.ts';
export { TgRoofline } from './roofline/roofline-chart.ts';
export { TgStats, type Stats } from './stats/stats.ts';
export { TgSteps } from './steps/steps.ts';
export { TgTimeline } from './timeline/timeline.ts';
export { TgTokenView } from './token-view/token-view.ts';
export { TokenPieces, type PieceToken, type TokenPiece } from './token-view/token-pieces.ts';
export { TgVerdict } from './verdict/verdict.ts';
export { TgWhatIf, type Measured, type WhatIfSubject } from './what-if/what-if.ts';
export {
  GenerationController,
  GenerationState,
  type GenerationListener,
  type GenerationResult,
} from './controllers/generation-controller.ts';
export { EngineLoader, type LoaderState } from './controllers/engine-loader.ts';
export { TgStopEvent, TgSubmitEvent } from './events/composer-events.ts';
export {
  TgErrorEvent,
  TgFirstTokenEvent,
  TgPrefillEvent,
  TgRequestEndEvent,
  TgRequestStartEvent,
  TgTokensEvent,
  type RequestEventMap,
} from './events/request-events.ts';
export { TgReadyEvent, TgWaitingEvent } from './events/waiting-event.ts';
export { TgRetryEvent } from './events/retry-event.ts';
export { describeError, needsNewEngine, type ErrorWords } from './internal/describe-error.ts';
export {
  formatBytes,
  formatCount,
  formatMs,
  formatMsPerToken,
  formatParameters,
  formatRate,
} from './internal/format.ts';
