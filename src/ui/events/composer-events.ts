/** The user sends a text. */
export class TgSubmitEvent extends Event {
  static readonly type = 'tg-submit';
  readonly text: string;

  constructor(text: string) {
    super(TgSubmitEvent.type, { bubbles: true, composed: true });
    this.text = text;
  }
}

/** The user wants the answer to stop. */
export class TgStopEvent extends Event {
  static readonly type = 'tg-stop';

  constructor() {
    super(TgStopEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    'tg-submit': TgSubmitEvent;
    'tg-stop': TgStopEvent;
  }
}
