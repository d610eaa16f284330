// A page of the built demo, as its tests open it.
import { launchBrowser, openPage } from './browser.mjs';
import { buildDemo } from './demo-build.mjs';
import { serveFolder } from './server.mjs';

/**
 * Builds and serves the demo, and opens an empty page that reaches nothing else.
 *
 * @returns `page`, the `browser` it is in, the demo's `url` with a slash at its end, what the page asked for `outside` of it, and `close`
 */
export async function openDemo(options) {
  const server = await serveFolder(await buildDemo());
  let browser;
  const close = async () => {
    await browser?.close();
    await server.close();
  };
  try {
    browser = await launchBrowser();
    const { page, outside } = await openPage(browser, server.url, options);
    return { page, browser, url: server.url, outside, close };
  } catch (error) {
    await close();
    throw error;
  }
}
