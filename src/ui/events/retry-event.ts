/** The user wants to try once more what failed. */
export class TgRetryEvent extends Event {
  static readonly type = 'tg-retry';

  constructor() {
    super(TgRetryEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    'tg-retry': TgRetryEvent;
  }
}
