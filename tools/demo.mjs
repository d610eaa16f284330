// `npm run demo`: builds and serves the demo page.
// `npm run demo -- --headless "What is TTFT?"`: the same page in headless Chromium, answer and figures in the terminal.
import { parseArgs } from 'node:util';
import { launchBrowser, openPage } from './browser.mjs';
import { buildDemo } from './demo-build.mjs';
import { checkEngine, ENGINES } from './engines.mjs';
import { serveFolder } from './server.mjs';

const HELP = `npm run demo [-- options]
  --port N            serve at this port (default 5173, or a free one if it is taken)
  --headless          ask in headless Chromium and print the answer; the question is the next argument
  --engine NAME       ${ENGINES.join(', ')} (default auto)
  --model NAME        tutor, or a URL (default tutor)
  --max-tokens N      at most this many output tokens`;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string' },
    headless: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'auto' },
    model: { type: 'string', default: 'tutor' },
    'max-tokens': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) console.log(HELP);
else if (options.headless) await askHeadless(positionals.join(' ') || 'What is TTFT?');
else await serveDemo();

async function serveDemo() {
  const folder = await buildDemo();
  const wanted = Number(options.port ?? 5173);
  const server = await serveFolder(folder, { port: wanted }).catch((error) => {
    if (options.port || error.code !== 'EADDRINUSE') throw error;
    return serveFolder(folder);
  });
  console.log(`Tokenglass demo: ${server.url}\n(stop with Ctrl+C)`);
}

async function askHeadless(question) {
  checkEngine(options.engine);
  const server = await serveFolder(await buildDemo());
  const browser = await launchBrowser();
  try {
    const { page, outside } = await openPage(browser, server.url);
    await page.exposeFunction('printDelta', (text) => process.stdout.write(text));
    const query = new URLSearchParams({ engine: options.engine, model: options.model });
    await page.goto(`${server.url}?${query}`);
    const maxTokens = options['max-tokens'] === undefined ? undefined : Number(options['max-tokens']);
    const result = await page.evaluate(
      ([asked, limit]) =>
        window.tokenglass.ask(asked, { onText: window.printDelta, ...(limit && { maxTokens: limit }) }),
      [question, maxTokens],
    );
    console.log('\n');
    printTable(result);
    if (outside.length) console.error(`Requests that left the machine were blocked: ${outside.join(', ')}`);
    process.exitCode = outside.length ? 1 : 0;
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Name and figure, aligned; an absent figure is a dash. */
function printTable({ info, figures }) {
  const ms = (value) => (value === undefined ? '–' : `${value.toFixed(1)} ms`);
  const adapter = info.adapter;
  const rows = [
    ['engine', `${info.engine} (${info.worker ? 'worker' : 'page'}), ${info.reason}`],
    [
      'adapter',
      adapter
        ? [adapter.vendor, adapter.architecture, adapter.isFallback && '(software)'].filter(Boolean).join(' ')
        : `none; CPU, ${info.threads ?? 1} threads`,
    ],
    ['model', `${info.model.id}, ${info.model.quantization}, ${(info.model.weightBytes / 1e6).toFixed(1)} MB`],
    ['tokens', `${figures.promptTokens} in (${figures.cachedTokens} cached), ${figures.outputTokens} out`],
    ['TTFT', ms(figures.ttftMs)],
    ['ITL p50', `${ms(figures.itlMs.p50)}  (n=${figures.itlMs.n})`],
    ['ITL p95', ms(figures.itlMs.p95)],
    ['TPOT', ms(figures.tpotMs)],
    ['tok/s', figures.tokensPerSecond === undefined ? '–' : `${figures.tokensPerSecond.toFixed(1)} (one user)`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${value}`);
}
