/** Something was asked, and there is no engine yet. */
export class TgWaitingEvent extends Event {
  static readonly type = 'tg-waiting';

  constructor() {
    super(TgWaitingEvent.type, { bubbles: true, composed: true });
  }
}

/** The model of an assistant is loaded. */
export class TgReadyEvent extends Event {
  static readonly type = 'tg-ready';

  constructor() {
    super(TgReadyEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    'tg-waiting': TgWaitingEvent;
    'tg-ready': TgReadyEvent;
  }
}
