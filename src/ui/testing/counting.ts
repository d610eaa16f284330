import type { LitElement } from 'lit';
import { nextFrame } from './fixture.ts';

/** How often Lit has rendered the element since this was called. */
export function countUpdates(element: LitElement): () => number {
  let count = 0;
  element.addController({ hostUpdated: () => (count += 1) });
  return () => count;
}

/** Resolves when `done` holds; looks once a frame. Fails with the test's own timeout. */
export async function until(done: () => boolean): Promise<void> {
  while (!done()) await nextFrame();
}

/** Ten frames, in which something that draws without reason would have drawn. */
export async function quietFrames(): Promise<void> {
  for (let frame = 0; frame < 10; frame += 1) await nextFrame();
}
