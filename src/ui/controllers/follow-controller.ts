import type { ReactiveController, ReactiveControllerHost } from 'lit';
import { systemClock } from '../../shared/clock.ts';
import type { OutputToken } from '../../shared/generation.ts';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import type { Engine, EngineEvents } from '../../runtime/request/engine.ts';
import type { TgChat } from '../chat/chat.ts';

/** What is told of an engine and of a chat; the words of a chat come from its page events. */
export interface FollowListener {
  /** A step of the engine has ended. */
  onStep(step: StepTrace): void;
  /** A request of the engine has ended. */
  onRequest(request: EngineEvents['request']): void;
  /** The chat called the engine. */
  onCall(): void;
  onStart(start: { requestId: string; promptTokens: number; cachedTokens: number }): void;
  onFirstText(ttftMs: number): void;
  onTokens(tokens: readonly OutputToken[], deliveredMs: number): void;
  /** The chat's request ended; without a trace if it was stopped or failed. */
  onEnd(trace: RequestTrace | undefined, outcome: EngineEvents['request']['outcome']): void;
  /** The page is hidden from now on; said of one that is hidden from the start as well. */
  onHidden(): void;
  /** The page is seen again, from `atMs` on (see `Clock`). */
  onShown(atMs: number): void;
}

type Host = ReactiveControllerHost & HTMLElement & { engine: Engine | undefined; source: TgChat | undefined };

/**
 * Listens to the engine and the chat that its host names in `engine` and `source`, while the host is in the page and to no other
 * than these.
 */
export class FollowController implements ReactiveController {
  readonly #host: Host;
  readonly #listener: FollowListener;
  #engine: Engine | undefined;
  #source: TgChat | undefined;
  #release: (() => void)[] = [];

  constructor(host: Host, listener: FollowListener) {
    this.#host = host;
    this.#listener = listener;
    host.addController(this);
  }

  hostConnected(): void {
    document.addEventListener('visibilitychange', this.#handleVisibility);
    if (document.hidden) this.#listener.onHidden();
    this.#follow();
  }

  hostDisconnected(): void {
    document.removeEventListener('visibilitychange', this.#handleVisibility);
    this.#unfollow();
    this.#engine = this.#source = undefined;
  }

  hostUpdate(): void {
    if (this.#host.engine !== this.#engine || this.#host.source !== this.#source) this.#follow();
  }

  #unfollow(): void {
    for (const release of this.#release.splice(0)) release();
  }

  #follow(): void {
    this.#unfollow();
    if (!this.#host.isConnected) return;
    ({ engine: this.#engine, source: this.#source } = this.#host);
    if (this.#engine) this.#followEngine(this.#engine);
    if (this.#source) this.#followChat(this.#source);
  }

  #followEngine({ metrics }: Engine): void {
    this.#release.push(
      metrics.on('step', (step) => this.#listener.onStep(step)),
      metrics.on('request', (request) => this.#listener.onRequest(request)),
    );
  }

  #followChat(chat: TgChat): void {
    const on = <Type extends keyof HTMLElementEventMap>(
      type: Type,
      listener: (event: HTMLElementEventMap[Type]) => void,
    ) => {
      chat.addEventListener(type, listener);
      this.#release.push(() => chat.removeEventListener(type, listener));
    };
    const listener = this.#listener;
    on('tg-request-start', () => listener.onCall());
    on('tg-prefill', (event) => listener.onStart(event));
    on('tg-first-token', ({ ttftMs }) => listener.onFirstText(ttftMs));
    on('tg-tokens', ({ tokens, deliveredMs }) => listener.onTokens(tokens, deliveredMs));
    on('tg-request-end', ({ trace, outcome }) => listener.onEnd(trace, outcome));
    on('tg-error', () => listener.onEnd(undefined, 'failed'));
  }

  readonly #handleVisibility = (): void => {
    if (document.hidden) this.#listener.onHidden();
    else this.#listener.onShown(systemClock.now());
  };
}
