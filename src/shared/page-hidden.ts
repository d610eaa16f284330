import { systemClock } from './clock.ts';

/** Of `document`, which a worker does not have. */
interface Page {
  readonly visibilityState: string;
  addEventListener(type: 'visibilitychange', listener: () => void): void;
}

let watched: Page | undefined;
/** When the page was last seen again after it was hidden (see `Clock`). */
let seenAgainMs = -Infinity;

/**
 * True if the page is hidden now, or was at any time since `sinceMs`: a look at the start and the end of something misses a page that was hidden
 * between them. Watching begins with the first call, so call it at the start too. In a worker never true: its client adds it.
 *
 * @param sinceMs see `Clock` @default now
 */
export function wasPageHidden(sinceMs = Infinity): boolean {
  const page = (globalThis as { document?: Page }).document;
  if (!page) return false;
  if (watched !== page) {
    watched = page;
    page.addEventListener('visibilitychange', () => {
      if (page.visibilityState !== 'hidden') seenAgainMs = systemClock.now();
    });
  }
  return page.visibilityState === 'hidden' || seenAgainMs >= sinceMs;
}
