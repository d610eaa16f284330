/**
 * A benchmark as it is asked for on the command line, in the address of the page, or by its form: the same names everywhere, all values
 * as text. Absent names have their defaults.
 */
export type Setup = Partial<Record<SetupName, string>>;

/** Every name with its help, in the order of the help. `value` is what stands for the value there; none for a switch. */
export const SETUP_FLAGS = {
  engine: {
    value: 'A,B,...',
    help: 'several run in turns, A B A B, if one user asks; else one after another (default auto)',
  },
  model: { value: 'M', help: 'tutor, a path or a URL (default tutor)' },
  endpoint: {
    value: 'URL',
    help: 'of an OpenAI-compatible API (http://localhost:8000/v1), for the engine endpoint; a key is read from TOKENGLASS_ENDPOINT_KEY',
  },
  'endpoint-model': { value: 'NAME', help: 'what that server calls its model' },
  'web-llm-model': { value: 'NAME', help: 'a model of the catalog of @mlc-ai/web-llm, for the engine web-llm' },
  workload: {
    value: 'NAME',
    help: 'fixed, chat, conversation, summarize, assistant (default fixed); other flags change parts of it',
  },
  'prompt-tokens': {
    value: 'LENGTH',
    help: 'exact length of each prompt, template included: N, uniform:A-B, exponential:MEAN, lognormal:MEAN,P99 or file:PATH (default 128)',
  },
  'output-tokens': { value: 'LENGTH', help: 'exact length of each answer, likewise (default 64)' },
  prompt: { value: 'TEXT', help: 'this prompt instead; answers then end where the model ends them' },
  'shared-prefix': { value: 'PERCENT', help: 'part of each prompt that all prompts begin with (default 0)' },
  turns: { value: 'N', help: 'requests of a conversation (default 1)' },
  arrivals: { value: 'PROCESS', help: 'closed (default), or open: constant, poisson, gamma, ramp, trace' },
  users: { value: 'N', help: 'of a closed loop (default 1)' },
  'think-time': { value: 'MS', help: 'between an answer and the next request of a user (default 0)' },
  rate: { value: 'R', help: 'requests per second of an open loop; of a ramp, at its start' },
  'rate-to': { value: 'R', help: 'rate at the end of a ramp' },
  burstiness: { value: 'K', help: 'shape of gamma gaps: 1 is Poisson, below comes in bursts (default 0.5)' },
  trace: { value: 'FILE', help: 'JSON Lines of arrivalMs, promptTokens, outputTokens, replayed as they came' },
  'trace-speed': { value: 'X', help: 'times as fast (default 1)' },
  requests: { value: 'N', help: 'measured requests per engine (default 5, if nothing else ends the run)' },
  duration: { value: 'SECONDS', help: 'of the measured part' },
  precision: { value: 'PERCENT', help: 'stop once TTFT p95 is known to plus or minus this' },
  'warm-up': { value: 'N', help: 'requests before them that are left out (default 1)' },
  'cool-down': { value: 'SECONDS', help: 'of load after them that is left out (default 0)' },
  'keep-cache': { help: 'leave the prefix cache as the warm-up left it' },
  slo: {
    value: 'SLO',
    help: 'chat (TTFT 300 ms, TPOT 40 ms; default), reading (1 s, 100 ms), or ttft=300,tpot=40,itl-p95=60,e2e=5000',
  },
  search: { help: 'find the highest rate that keeps the SLO for 95 % of the requests (open loop)' },
  tolerance: { value: 'PERCENT', help: 'of the search (default 3)' },
  sweep: { value: 'WHAT', help: 'users:1,2,4,8 or rate:0.5,1,2: the latency-throughput curve' },
  temperature: { value: 'T', help: '0 is greedy (default 0)' },
  seed: { value: 'N', help: 'of lengths, arrivals and sampling (default 1)' },
  raw: { help: 'without the chat template' },
  'gpu-calls': { help: 'also count WebGPU calls per decoded token' },
} as const satisfies Record<string, { value?: string; help: string }>;

export type SetupName = keyof typeof SETUP_FLAGS;

/** Names of the address of a page or of flags that were given; others are refused. @throws RangeError */
export function toSetup(entries: Iterable<readonly [string, string]>): Setup {
  const setup: Setup = {};
  for (const [name, value] of entries) {
    if (!Object.hasOwn(SETUP_FLAGS, name)) throw new RangeError(`Cannot run: there is no setting "${name}"`);
    setup[name as SetupName] = value;
  }
  return setup;
}
