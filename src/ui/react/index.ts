'use client';
/** Tokenglass for React 18 and 19: the elements as components, an engine and an answer as hooks. */
export { Assistant, Chat, Dashboard, Overlay } from './components.ts';
export { useAnswer, type Answer } from './use-answer.ts';
export { useEngine, type EngineState, type UseEngineOptions } from './use-engine.ts';
