'use client';
import { createComponent, type EventName } from '@lit/react';
import * as React from 'react';
import { TgAssistant } from '../assistant/assistant.ts';
import { TgChat } from '../chat/chat.ts';
import { TgDashboard } from '../dashboard/dashboard.ts';
import type {
  TgErrorEvent,
  TgFirstTokenEvent,
  TgPrefillEvent,
  TgRequestEndEvent,
  TgRequestStartEvent,
  TgTokensEvent,
} from '../events/request-events.ts';
import type { TgReadyEvent, TgWaitingEvent } from '../events/waiting-event.ts';
import { TgOverlay } from '../overlay/overlay.ts';

const requestEvents = {
  onWaiting: 'tg-waiting' as EventName<TgWaitingEvent>,
  onRequestStart: 'tg-request-start' as EventName<TgRequestStartEvent>,
  onPrefill: 'tg-prefill' as EventName<TgPrefillEvent>,
  onFirstToken: 'tg-first-token' as EventName<TgFirstTokenEvent>,
  onTokens: 'tg-tokens' as EventName<TgTokensEvent>,
  onRequestEnd: 'tg-request-end' as EventName<TgRequestEndEvent>,
  onError: 'tg-error' as EventName<TgErrorEvent>,
};

/**
 * `<tg-chat>` as a component.
 *
 * @example
 * ```tsx
 * const { engine } = useEngine({ model: 'tutor' });
 * return <Chat engine={engine} onRequestEnd={({ text }) => console.log(text)} />;
 * ```
 */
export const Chat = createComponent({
  react: React,
  tagName: 'tg-chat',
  elementClass: TgChat,
  displayName: 'Chat',
  events: requestEvents,
});

/** `<tg-overlay>` as a component: TTFT and ms/token of the engine it is given. */
export const Overlay = createComponent({
  react: React,
  tagName: 'tg-overlay',
  elementClass: TgOverlay,
  displayName: 'Overlay',
});

/** `<tg-assistant>` as a component: it loads its model itself. */
export const Assistant = createComponent({
  react: React,
  tagName: 'tg-assistant',
  elementClass: TgAssistant,
  displayName: 'Assistant',
  events: { ...requestEvents, onReady: 'tg-ready' as EventName<TgReadyEvent> },
});

/** `<tg-dashboard>` as a component. */
export const Dashboard = createComponent({
  react: React,
  tagName: 'tg-dashboard',
  elementClass: TgDashboard,
  displayName: 'Dashboard',
});
