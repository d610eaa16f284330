import type { ReactiveController, ReactiveControllerHost } from 'lit';

export type Corner = 'top-left' | 'top-right' | 'bottom-left' | 'bottom-right';

/** A press that moves less than this is a click, CSS px. */
const DRAG_THRESHOLD_PX = 6;

type Host = ReactiveControllerHost & HTMLElement & { placement: Corner | 'inline' };

const nameOf = (isTop: boolean, isLeft: boolean): Corner => `${isTop ? 'top' : 'bottom'}-${isLeft ? 'left' : 'right'}`;

/**
 * Lets the user move an element from corner to corner of the window: by dragging a handle, or with the arrow keys while it has
 * focus. `inline` elements stay where they are.
 */
export class CornerController implements ReactiveController {
  readonly #host: Host;
  #start: { x: number; y: number; handle: Element } | undefined;
  #dragged = false;

  constructor(host: Host) {
    this.#host = host;
    host.addController(this);
  }

  hostDisconnected(): void {
    this.#drop();
  }

  /** True once after a drag: the click that ends it means nothing. One of the keyboard ends none. */
  takeDrag(click: MouseEvent): boolean {
    const dragged = this.#dragged && click.detail > 0;
    this.#dragged = false;
    return dragged;
  }

  readonly handlePointerDown = (event: PointerEvent): void => {
    if (this.#host.placement === 'inline' || event.button !== 0) return;
    this.#start = { x: event.clientX, y: event.clientY, handle: event.currentTarget as Element };
    this.#dragged = false;
    window.addEventListener('pointermove', this.#handleMove);
    window.addEventListener('pointerup', this.#handleUp);
    window.addEventListener('pointercancel', this.#drop);
  };

  readonly handleKeydown = (event: KeyboardEvent): void => {
    const { placement } = this.#host;
    // With a modifier a key is the browser's: back, say.
    if (placement === 'inline' || event.altKey || event.ctrlKey || event.metaKey) return;
    const isTop = event.key === 'ArrowUp' || (placement.startsWith('top') && event.key !== 'ArrowDown');
    const isLeft = event.key === 'ArrowLeft' || (placement.endsWith('left') && event.key !== 'ArrowRight');
    const corner = nameOf(isTop, isLeft);
    if (corner === placement) return;
    event.preventDefault();
    this.#host.placement = corner;
  };

  readonly #handleMove = (event: PointerEvent): void => {
    if (!this.#start) return;
    const [dx, dy] = [event.clientX - this.#start.x, event.clientY - this.#start.y];
    if (!this.#dragged && Math.hypot(dx, dy) < DRAG_THRESHOLD_PX) return;
    if (!this.#dragged) this.#capture(event);
    this.#dragged = true;
    this.#host.style.translate = `${dx}px ${dy}px`;
  };

  /** Over a frame of the page, and beyond the window, moves and the release come here all the same. */
  #capture({ pointerId }: PointerEvent): void {
    try {
      this.#start?.handle.setPointerCapture(pointerId);
    } catch {
      // The pointer is gone: its cancel or its release is on the way.
    }
  }

  readonly #handleUp = (): void => {
    if (this.#dragged) {
      const { left, top, width, height } = this.#host.getBoundingClientRect();
      this.#host.placement = nameOf(top + height / 2 < innerHeight / 2, left + width / 2 < innerWidth / 2);
    }
    this.#drop();
  };

  readonly #drop = (): void => {
    this.#start = undefined;
    this.#host.style.translate = '';
    window.removeEventListener('pointermove', this.#handleMove);
    window.removeEventListener('pointerup', this.#handleUp);
    window.removeEventListener('pointercancel', this.#drop);
  };
}
