// `npm run bench -- --engine onnx-wasm --model tutor --prompt-tokens 128 --output-tokens 64 --json out.json`
// Runs the benchmark page in headless Chromium and prints the same table.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { launchBrowser, openPage } from './browser.mjs';
import { buildDemo } from './demo-build.mjs';
import { ENGINES, checkEngine } from './engines.mjs';
import { resolveModelArgument } from './model-argument.mjs';
import { SCENARIOS, checkScenario } from './scenarios.mjs';
import { serveFolder } from './server.mjs';

const MODELS = ['tutor (built in)', 'a path of a GGUF file or of an ONNX folder', 'a URL of either'];

const HELP = `npm run bench -- [options]
  --engine A,B,...      ${ENGINES.join(', ')}; several run in turns, A B A B (default auto)
  --model M             tutor, a path or a URL (default tutor)
  --prompt-tokens N     exact length of each prompt, template included (default 128)
  --output-tokens N     exact length of each answer (default 64)
  --prompt TEXT         this prompt instead; answers then end where the model ends them
  --requests N          measured requests per engine (default 5; --repeat is the same)
  --warm-up N           requests before them that are left out (default 1)
  --temperature T       0 is greedy (default 0)
  --seed N              first seed, one more for each request (default 1)
  --raw                 without the chat template
  --gpu-calls           also count WebGPU calls per decoded token
  --json FILE           write the report; - writes it, and nothing else, to standard output
  --scenario NAME       a named experiment instead of requests; its figures are in the JSON
  --list                name engines, models and scenarios`;

const { values: options, tokens } = parseArgs({
  tokens: true,
  options: {
    engine: { type: 'string', default: 'auto' },
    model: { type: 'string', default: 'tutor' },
    'prompt-tokens': { type: 'string', default: '128' },
    'output-tokens': { type: 'string', default: '64' },
    prompt: { type: 'string' },
    requests: { type: 'string' },
    repeat: { type: 'string' },
    'warm-up': { type: 'string', default: '1' },
    temperature: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    raw: { type: 'boolean', default: false },
    'gpu-calls': { type: 'boolean', default: false },
    json: { type: 'string' },
    scenario: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) console.log(HELP);
else if (options.list)
  console.log(`engines: ${ENGINES.join(', ')}\nmodels: ${MODELS.join('; ')}\nscenarios: ${SCENARIOS.join(', ')}`);
else await bench();

function numberOption(name, text, least) {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value) || value < least)
    throw new Error(`Cannot run: --${name} is ${text}; give a number of at least ${least}`);
  return value;
}

function readWorkload() {
  return {
    promptTokens: numberOption('prompt-tokens', options['prompt-tokens'], 1),
    ...(options.prompt !== undefined && { promptText: options.prompt }),
    outputTokens: numberOption('output-tokens', options['output-tokens'], 1),
    requests: numberOption('requests', options.requests ?? options.repeat ?? '5', 1),
    warmUpRequests: numberOption('warm-up', options['warm-up'], 0),
    temperature: numberOption('temperature', options.temperature, 0),
    seed: numberOption('seed', options.seed, 0),
    raw: options.raw,
    slo: { name: 'chat', ttftMs: 300, tpotMs: 40 },
  };
}

async function bench() {
  const engines = options.engine.split(',').map((name) => checkEngine(name.trim()));
  const workload = readWorkload();
  const scenario = options.scenario === undefined ? undefined : checkScenario(options.scenario);
  const quiet = options.json === '-';
  const model = resolveModelArgument(options.model);
  const server = await serveFolder(await buildDemo(), { mounts: model.mounts });
  const browser = await launchBrowser();
  try {
    const { page } = await openPage(browser, server.url);
    await page.exposeFunction('onSample', (done, of) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${of} requests ${done === of ? '\n' : ''}`);
    });
    await page.goto(`${server.url}bench/index.html`);
    const command = `npm run bench -- ${process.argv.slice(2).map(quote).join(' ')}`;
    const asked = { engines, model: model.url(server.url), command };
    const { report, table } = scenario
      ? await page.evaluate((run) => window.tokenglassScenario(run, window.onSample), {
          ...asked,
          name: scenario,
          options: givenOptions(),
        })
      : await page.evaluate((run) => window.tokenglassBench(run, window.onSample), {
          ...asked,
          workload,
          gpuCalls: options['gpu-calls'],
        });
    if (quiet) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    else console.log(table);
    if (options.json && !quiet) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
    process.exitCode = report.runs?.some(({ requests }) => requests.completed === 0) ? 1 : 0;
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Only what was on the command line: a scenario has defaults of its own. */
function givenOptions() {
  return Object.fromEntries(
    tokens.flatMap((token) => (token.kind === 'option' ? [[token.name, token.value ?? true]] : [])),
  );
}

function quote(argument) {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
