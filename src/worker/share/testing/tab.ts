/** What an iframe of a test runs: as far as sharing goes, it is a tab. */
import { shareFake, startedHosts } from './fake-share.ts';

const tab = { shareFake, startedHosts };

export type Tab = typeof tab;

Object.assign(globalThis, { tab });

/** An iframe with {@link Tab} in it; removing it closes the tab. */
export async function openTab(): Promise<{ tab: Tab; close: () => void }> {
  const iframe = document.createElement('iframe');
  iframe.srcdoc = `<!doctype html><script type="module" src="${import.meta.url}"></script>`;
  document.body.append(iframe);
  await new Promise((resolve) => iframe.addEventListener('load', resolve, { once: true }));
  return { tab: (iframe.contentWindow as unknown as { tab: Tab }).tab, close: () => iframe.remove() };
}
