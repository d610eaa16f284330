// Headless Chromium for the demo, the benchmark and the screenshots.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { BASE_FLAGS, SOFTWARE_WEBGPU_FLAGS, ensureChromium } from './chromium.mjs';

function launchOptions({ headless = true, handleSIGINT = true, args = [] } = {}) {
  const hardware = process.env.TOKENGLASS_GPU === 'hardware';
  return {
    executablePath: ensureChromium(),
    headless,
    handleSIGINT,
    args: [
      ...(headless ? ['--headless=new'] : []),
      ...BASE_FLAGS,
      ...args,
      ...(hardware ? ['--enable-unsafe-webgpu', '--enable-features=Vulkan'] : SOFTWARE_WEBGPU_FLAGS),
    ],
  };
}

/**
 * Starts Chromium. `TOKENGLASS_GPU=hardware` leaves WebGPU to the machine's own GPU; the default is the software adapter, which every
 * machine has. With `handleSIGINT: false` the caller ends the browser at Ctrl+C.
 */
export const launchBrowser = (options) => chromium.launch(launchOptions(options));

/**
 * Starts Chromium with a new profile on disk, as a visitor has one, in place of one that is in memory only: what pages store is written to
 * the disk and read from it. `close` deletes the profile.
 */
export async function launchProfile(options) {
  const folder = mkdtempSync(join(tmpdir(), 'tokenglass-profile-'));
  const context = await chromium.launchPersistentContext(folder, launchOptions(options));
  const close = async () => {
    await context.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  return { context, close };
}

/**
 * A page whose errors are not lost, and which may reach nothing but its own server. With `reachesOut` it may reach everything, and nothing
 * looks at its requests: what is measured is not delayed.
 */
export async function openPage(browser, origin, { reachesOut = false, ...options } = {}) {
  return openPageIn(await browser.newContext(options), origin, reachesOut);
}

/** As {@link openPage}, in a context that is there. */
export async function openPageIn(context, origin, reachesOut = false) {
  const outside = [];
  if (!reachesOut)
    await context.route(
      (url) => !url.href.startsWith(origin) && !/^(blob|data):/.test(url.href),
      (route) => (outside.push(route.request().url()), route.abort()),
    );
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && console.error(`page: ${message.text()}`));
  return { page, context, outside };
}
