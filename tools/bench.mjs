// `npm run bench -- --engine onnx-wasm --model tutor --prompt-tokens 128 --output-tokens 64 --json out.json`
// Runs the benchmark page in headless Chromium and prints the same table.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { tsImport } from 'tsx/esm/api';
import { launchBrowser, launchProfile, openPage, openPageIn } from './browser.mjs';
import { buildDemo } from './demo-build.mjs';
import { BENCH_ENGINES, checkEngine } from './engines.mjs';
import { resolveModelArgument } from './model-argument.mjs';
import { progressBar } from './progress-bar.mjs';
import { SCENARIOS, checkScenario } from './scenarios.mjs';
import { serveFolder } from './server.mjs';

/** The page reads its address by the same names. */
const { SETUP_FLAGS } = await tsImport('../src/runtime/bench/setup/setup.ts', import.meta.url);

const MODELS = ['tutor (built in)', 'a path of a GGUF file or of an ONNX folder', 'a URL of either'];

/** Flags that only the command line has. */
const OWN_FLAGS = {
  json: { value: 'FILE', help: 'write the report; - writes it, and nothing else, to standard output' },
  markdown: { value: 'FILE', help: 'write it as Markdown' },
  csv: { value: 'FILE', help: 'write its requests as CSV' },
  png: { value: 'FILE', help: 'write its charts' },
  compare: { value: 'FILE', help: 'also compare with this report, engine by engine' },
  assert: { value: 'SLO', help: 'exit code 1 unless 95 % of the requests of every run meet this SLO' },
  runtime: {
    value: 'chromium|node',
    help: "node runs our WebGPU runtime on this machine's GPU without a browser (default chromium)",
  },
  scenario: { value: 'NAME', help: 'a named experiment instead of requests; its figures are in the JSON' },
  list: { help: 'name engines, models, workloads and scenarios' },
  help: { help: 'this text' },
};

const helpLines = (flags) =>
  Object.entries(flags).map(
    ([name, { value, help }]) => `  ${`--${name}${value ? ` ${value}` : ''}`.padEnd(26)} ${help}`,
  );

const { values: options, tokens } = parseArgs({
  tokens: true,
  options: {
    ...Object.fromEntries(
      Object.entries({ ...SETUP_FLAGS, ...OWN_FLAGS }).map(([name, { value }]) => [
        name,
        { type: value ? 'string' : 'boolean' },
      ]),
    ),
    repeat: { type: 'string' }, // an older name of --requests
  },
});

if (options.help)
  console.log(['npm run bench -- [options]', ...helpLines(SETUP_FLAGS), ...helpLines(OWN_FLAGS)].join('\n'));
else if (options.list) await list();
else if (options.runtime === 'node') await benchWithoutBrowser();
else if (options.runtime === undefined || options.runtime === 'chromium') await bench();
else throw new Error(`Cannot run: --runtime is ${options.runtime}; give chromium or node`);

async function list() {
  const { WORKLOADS } = await tsImport('../src/runtime/bench/setup/presets.ts', import.meta.url);
  const workloads = Object.entries(WORKLOADS).map(([name, { about }]) => `${name} (${about})`);
  for (const [what, names] of Object.entries({
    engines: BENCH_ENGINES.join(', '),
    models: MODELS.join('; '),
    workloads: workloads.join('; '),
    scenarios: SCENARIOS.join(', '),
  }))
    console.log(`${what}: ${names}`);
}

/** What was asked for, checked before anything is built. */
async function readOptions() {
  const { readSetup } = await tsImport('../src/runtime/bench/setup/read-setup.ts', import.meta.url);
  const { parseSlo } = await tsImport('../src/runtime/bench/slo.ts', import.meta.url);
  const given = Object.entries({ ...(options.repeat && { requests: options.repeat }), ...options });
  const setup = Object.fromEntries(
    given.flatMap(([name, value]) => (name in SETUP_FLAGS ? [[name, value === true ? 'true' : value]] : [])),
  );
  const files = [
    setup.trace,
    ...[setup['prompt-tokens'], setup['output-tokens']].map((text) => /^file:(.*)/.exec(text ?? '')?.[1]),
  ];
  const asked = readSetup(setup, Object.fromEntries(files.flatMap((path) => (path ? [[path, readFile(path)]] : []))));
  for (const engine of asked.engines) checkEngine(engine, BENCH_ENGINES);
  // From the environment, so that it is in no history and in no report.
  const apiKey = process.env.TOKENGLASS_ENDPOINT_KEY;
  if (asked.endpoint && apiKey) asked.endpoint.apiKey = apiKey;
  return {
    asked,
    assertSlo: options.assert === undefined ? undefined : parseSlo(options.assert),
    scenario: options.scenario === undefined ? undefined : checkScenario(options.scenario),
    baseline: options.compare === undefined ? undefined : readFile(options.compare),
    model: resolveModelArgument(asked.model),
  };
}

function readFile(path) {
  if (!existsSync(path)) throw new Error(`Cannot run: there is no file ${path}`);
  return readFileSync(path, 'utf8');
}

async function benchWithoutBrowser() {
  const { benchInNode } = await import('./bench-node.mjs');
  const { asked, model } = await readOptions();
  const bar = progressBar();
  const command = commandLine();
  const cancelled = new AbortController();
  onInterrupt(() => cancelled.abort());
  const { report, table } = await benchInNode({ ...asked, command }, model, {
    onProgress: ({ sample: _, ...progress }) => bar.show(progress),
    signal: cancelled.signal,
    keepWhenCut: true,
  });
  bar.end();
  const json = `${JSON.stringify(report, null, 2)}\n`;
  if (options.json === '-') process.stdout.write(json);
  else console.log(table);
  if (options.json && options.json !== '-') writeFileSync(options.json, json);
  process.exit(report.runs.some(({ requests }) => requests.completed === 0) ? 1 : 0); // Dawn keeps the process alive
}

async function bench() {
  const { asked, assertSlo, scenario, baseline, model } = await readOptions();
  const quiet = options.json === '-';
  const server = await serveFolder(await buildDemo(), { mounts: model.mounts });
  // What a scenario keeps over a reload, it keeps on disk, as a visitor's browser does.
  const profile = scenario && (await launchProfile({ handleSIGINT: false }));
  const browser = profile ? undefined : await launchBrowser({ handleSIGINT: false });
  try {
    const { page } = profile
      ? await openPageIn(profile.context, server.url, reachesOut(asked))
      : await openPage(browser, server.url, { reachesOut: reachesOut(asked) });
    const bar = progressBar();
    onInterrupt(() => page.evaluate(() => window.tokenglassCancel()));
    await page.exposeFunction('onBenchProgress', (progress, of) => bar.show(progress, of));
    await page.goto(`${server.url}bench/index.html`);
    const run = { ...asked, model: model.url(server.url), command: commandLine() };
    const { report, table, comparison, exports, missed } = scenario
      ? await runScenario(page, { ...run, name: scenario, options: givenOptions() })
      : await page.evaluate(
          ([options, more]) => window.tokenglassBench(options, more, window.onBenchProgress),
          [run, { baseline, assertSlo, png: options.png !== undefined }],
        );
    bar.end();
    if (quiet) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    else console.log(table);
    if (comparison && !quiet) console.log(`\nThis run (second) and ${options.compare} (first):\n${comparison}`);
    if (options.json && !quiet) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
    if (options.markdown) writeFileSync(options.markdown, exports.markdown);
    if (options.csv) writeFileSync(options.csv, exports.csv);
    if (options.png) writeFileSync(options.png, Buffer.from(exports.png, 'base64'));
    for (const sentence of missed ?? []) console.error(sentence);
    process.exitCode = missed?.length || report.runs?.some(({ requests }) => requests.completed === 0) ? 1 : 0;
  } finally {
    await (profile ?? browser).close();
    await server.close();
  }
}

/** Runs a scenario to its end, loading the page anew whenever it asks for that. */
async function runScenario(page, scenario) {
  const devtools = await page.context().newCDPSession(page);
  await page.exposeFunction('tokenglassMainThreadMs', async () => {
    await devtools.send('Performance.enable'); // only where it is asked for: a second time it does nothing
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'ThreadTime').value * 1000;
  });
  for (let state; ;) {
    const result = await page.evaluate((options) => window.tokenglassScenario(options, window.onBenchProgress), {
      ...scenario,
      reloads: true,
      ...(state !== undefined && { state }),
    });
    if (!result.reload) return result;
    ({ state } = result.reload);
    await page.reload();
  }
}

/** True for what lies elsewhere: a server, web-llm's models, a model that is named by its URL. */
function reachesOut({ engines, model }) {
  return engines.includes('endpoint') || engines.includes('web-llm') || /^https?:/.test(model);
}

/** Ctrl+C ends the run and keeps what was measured; a second one ends everything. */
function onInterrupt(cancel) {
  let interrupted = false;
  process.on('SIGINT', () => {
    if (interrupted) process.exit(130);
    interrupted = true;
    console.error('\nCancelling; what was measured is kept. Press Ctrl+C again to end at once.');
    void cancel();
  });
}

/** Only what was on the command line: a scenario has defaults of its own. */
function givenOptions() {
  return Object.fromEntries(
    tokens.flatMap((token) => (token.kind === 'option' ? [[token.name, token.value ?? true]] : [])),
  );
}

/** What a report says that it can be repeated by. */
function commandLine() {
  return `npm run bench -- ${process.argv.slice(2).map(quote).join(' ')}`;
}

function quote(argument) {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
