// Headless Chromium for the demo, the benchmark and the screenshots.
import { chromium } from 'playwright';
import { BASE_FLAGS, SOFTWARE_WEBGPU_FLAGS, ensureChromium } from './chromium.mjs';

/**
 * Starts Chromium. `TOKENGLASS_GPU=hardware` leaves WebGPU to the machine's own GPU; the default is the software adapter, which every
 * machine has. With `handleSIGINT: false` the caller ends the browser at Ctrl+C.
 */
export async function launchBrowser({ headless = true, handleSIGINT = true } = {}) {
  const hardware = process.env.TOKENGLASS_GPU === 'hardware';
  return chromium.launch({
    executablePath: ensureChromium(),
    headless,
    handleSIGINT,
    args: [
      ...(headless ? ['--headless=new'] : []),
      ...BASE_FLAGS,
      ...(hardware ? ['--enable-unsafe-webgpu', '--enable-features=Vulkan'] : SOFTWARE_WEBGPU_FLAGS),
    ],
  });
}

/** A page whose errors are not lost, and which may reach nothing but its own server. */
export async function openPage(browser, origin, options = {}) {
  const context = await browser.newContext(options);
  const outside = [];
  await context.route(
    (url) => !url.href.startsWith(origin) && !/^(blob|data):/.test(url.href),
    (route) => (outside.push(route.request().url()), route.abort()),
  );
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && console.error(`page: ${message.text()}`));
  return { page, context, outside };
}
