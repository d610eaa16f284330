import type { LitElement } from 'lit';

const mounted: Element[] = [];

/** Puts an element in the page and waits for its first rendering; `unmountAll` takes it out again. */
export async function mount<Type extends LitElement>(element: Type): Promise<Type> {
  document.body.append(element);
  mounted.push(element);
  await element.updateComplete;
  return element;
}

export function unmountAll(): void {
  for (const element of mounted.splice(0)) element.remove();
}

/** The next painted frame. */
export const nextFrame = (): Promise<void> =>
  new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));

/** Resolves with the next event of that type. */
export const nextEvent = <Type extends keyof HTMLElementEventMap>(
  target: HTMLElement,
  type: Type,
): Promise<HTMLElementEventMap[Type]> =>
  new Promise((resolve) => target.addEventListener(type, (event) => resolve(event), { once: true }));

/** An element in the shadow root of another; throws if it is not there. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the test says what it expects, as with querySelector
export function inside<Type extends Element = HTMLElement>(host: LitElement, selector: string): Type {
  const found = host.renderRoot.querySelector<Type>(selector);
  if (!found) throw new Error(`Cannot find ${selector} in <${host.localName}>`);
  return found;
}

/** Presses a key on an element, as a user would. */
export function press(target: EventTarget, key: string, init: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent('keydown', { key, bubbles: true, composed: true, cancelable: true, ...init });
  target.dispatchEvent(event);
  return event;
}

/** Runs a check in a light and in a dark page. */
export async function inBothSchemes(check: (scheme: 'light' | 'dark') => Promise<unknown>): Promise<void> {
  const { style } = document.documentElement;
  document.body.style.background = 'Canvas';
  try {
    for (const scheme of ['light', 'dark'] as const) {
      style.colorScheme = scheme;
      await check(scheme);
    }
  } finally {
    style.colorScheme = '';
    document.body.style.background = '';
  }
}
