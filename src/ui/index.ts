/** The elements of Tokenglass. Importing this registers them. */
export { TgAssistant } from './assistant/assistant.ts';
export { TgChat } from './chat/chat.ts';
export { TgComposer } from './composer/composer.ts';
export { TgCopyButton } from './copy-button/copy-button.ts';
export { TgLoad } from './load/load.ts';
export { TgMarkdown } from './markdown/markdown.ts';
export { TextStream } from './markdown/text-stream.ts';
export { TgModels } from './models/models.ts';
export { TgOverlay } from './overlay/overlay.ts';
export { TgPartsBar, type Part } from './parts-bar/parts-bar.ts';
export { TgTimeline } from './timeline/timeline.ts';
export { TgTokenView } from './token-view/token-view.ts';
export { TokenPieces, type PieceToken, type TokenPiece } from './token-view/token-pieces.ts';
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
export { TgModelEvent } from './events/model-event.ts';
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
