/** The user wants another model; nothing is loaded by the element itself. */
export class TgModelEvent extends Event {
  static readonly type = 'tg-model';
  /** As `createEngine` takes it. */
  readonly model: string;

  constructor(model: string) {
    super(TgModelEvent.type, { bubbles: true, composed: true });
    this.model = model;
  }
}

declare global {
  interface HTMLElementEventMap {
    'tg-model': TgModelEvent;
  }
}
