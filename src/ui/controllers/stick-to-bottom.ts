import type { ReactiveController, ReactiveControllerHost } from 'lit';

/** How near the end counts as being there, CSS px. */
const NEAR_PX = 32;

/**
 * Keeps a scroller at its end while content grows, but only for a reader who is there: whoever scrolls up to read is left
 * alone.
 */
export class StickToBottom implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  #scroller: HTMLElement | undefined;
  #observer: ResizeObserver | undefined;
  #atEnd = true;
  /** False for content that is read from its start. */
  follows = true;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  /** True if the reader is at the end (or there is nothing to scroll). */
  get atEnd(): boolean {
    return this.#atEnd;
  }

  /** To be called once both exist. */
  observe(scroller: HTMLElement, content: HTMLElement): void {
    if (this.#scroller === scroller) return;
    this.hostDisconnected();
    this.#scroller = scroller;
    scroller.addEventListener('scroll', this.#handleScroll, { passive: true });
    this.#observer = new ResizeObserver(() => {
      if (this.follows && this.#atEnd) this.toEnd();
      else this.#handleScroll();
    });
    this.#observer.observe(content);
    this.#observer.observe(scroller);
  }

  hostDisconnected(): void {
    this.#observer?.disconnect();
    this.#scroller?.removeEventListener('scroll', this.#handleScroll);
    this.#scroller = undefined;
  }

  /** Goes to the end and stays there. */
  toEnd(): void {
    if (!this.#scroller) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#set(true);
  }

  readonly #handleScroll = () => {
    const scroller = this.#scroller;
    if (scroller) this.#set(scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= NEAR_PX);
  };

  #set(atEnd: boolean): void {
    if (this.#atEnd === atEnd) return;
    this.#atEnd = atEnd;
    this.#host.requestUpdate();
  }
}
