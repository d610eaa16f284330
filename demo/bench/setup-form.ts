import { html, nothing, type TemplateResult } from 'lit';
import { WORKLOADS, type WorkloadName } from '../../src/runtime/bench/setup/presets.ts';
import { ENGINE_NAMES, ENGINES } from '../../src/shared/engines.ts';
import type { Setup, SetupName } from '../../src/runtime/bench/setup/setup.ts';

/** Engines as a page names them, and a server. */
const CONTENDERS: readonly (readonly [name: string, label: string])[] = [
  ...ENGINE_NAMES.map((name) => [name, ENGINES[name].label] as const),
  ['endpoint', 'A server'],
];

const ARRIVALS = [
  ['closed', 'Closed loop: users wait for answers'],
  ['constant', 'Open loop: evenly spaced'],
  ['poisson', 'Open loop: Poisson'],
  ['gamma', 'Open loop: bursts (gamma)'],
  ['ramp', 'Open loop: growing rate'],
  ['trace', 'Replay of a trace'],
] as const;

const GOALS = [
  ['run', 'One run'],
  ['search', 'Find the highest rate that keeps the SLO'],
  ['sweep', 'Sweep: the curve of latency against throughput'],
] as const;

const SLOS = [
  ['chat', 'chat: TTFT 300 ms, TPOT 40 ms'],
  ['reading', 'reading: TTFT 1 s, TPOT 100 ms'],
  ['own', 'own limits'],
] as const;

/** Settings that make a workload. */
const WORKLOAD_FIELDS = ['prompt-tokens', 'output-tokens', 'shared-prefix', 'turns', 'think-time'] as const;

const sentence = (words: string): string => `${words[0]!.toUpperCase()}${words.slice(1)}.`;

export interface SetupFormOptions {
  setup: Setup;
  running: boolean;
  onChange: (changes: Partial<Record<SetupName, string | undefined>>) => void;
  /** A file was chosen for a setting: its name becomes the value. */
  onFile: (name: 'trace', file: File) => void;
}

/** The form; every field is one setting of the command line, and empty where it is the default. */
export function setupForm({ setup, running, onChange, onFile }: SetupFormOptions): TemplateResult {
  const { about, flags } = WORKLOADS[(setup.workload ?? 'fixed') as WorkloadName];
  const preset: Setup = flags;
  const isChanged = WORKLOAD_FIELDS.some((name) => setup[name] !== undefined && setup[name] !== preset[name]);
  const defaultOf = (name: SetupName, otherwise: string): string => preset[name] ?? otherwise;
  const arrivals =
    setup.arrivals ?? (setup.search !== undefined || setup.sweep?.startsWith('rate') ? 'poisson' : 'closed');
  const goal = setup.search !== undefined ? 'search' : setup.sweep !== undefined ? 'sweep' : 'run';
  const isOpen = arrivals !== 'closed' && arrivals !== 'trace';
  const engines = (setup.engine ?? 'auto').split(',');

  const text = (name: SetupName, label: string, otherwise: string, unit = ''): TemplateResult => html`
    <label class=${name === 'model' || name === 'slo' ? 'field wide' : 'field'}>
      <span>${label}${unit ? html` <small>${unit}</small>` : nothing}</span>
      <input
        name=${name}
        autocomplete="off"
        spellcheck="false"
        inputmode=${/^[\d.]*$/.test(otherwise) ? 'decimal' : 'text'}
        .value=${setup[name] ?? ''}
        placeholder=${otherwise}
        @change=${(event: Event) => onChange({ [name]: (event.target as HTMLInputElement).value.trim() || undefined })}
      />
    </label>
  `;
  const select = (
    name: string,
    label: string,
    value: string,
    choices: readonly (readonly [string, string])[],
    onPick: (value: string) => void,
  ): TemplateResult => html`
    <label class="field wide">
      <span>${label}</span>
      <select
        name=${name}
        .value=${value}
        @change=${(event: Event) => onPick((event.target as HTMLSelectElement).value)}
      >
        ${choices.map(([choice, words]) => html`<option value=${choice} ?selected=${choice === value}>${words}</option>`)}
      </select>
    </label>
  `;
  const tick = (name: SetupName, label: string): TemplateResult => html`
    <label class="tick">
      <input
        type="checkbox"
        name=${name}
        .checked=${setup[name] !== undefined}
        @change=${(event: Event) => onChange({ [name]: (event.target as HTMLInputElement).checked ? 'true' : undefined })}
      />
      ${label}
    </label>
  `;
  const pickEngines = (event: Event): void => {
    const { value, checked } = event.target as HTMLInputElement;
    const rest = engines.filter((engine) => engine !== value && engine !== 'auto');
    const picked = CONTENDERS.map(([name]) => name).filter(
      (name) => rest.includes(name) || (checked && name === value),
    );
    onChange({ engine: picked.join(',') || undefined });
  };

  return html`
    <fieldset ?disabled=${running}>
      <legend>What runs</legend>
      <div class="ticks" role="group" aria-label="Engines; none ticked: the best for this device">
        ${CONTENDERS.map(
          ([name, label]) => html`
            <label class="tick">
              <input
                type="checkbox"
                name="engine"
                value=${name}
                .checked=${engines.includes(name)}
                @change=${pickEngines}
              />
              ${label}
            </label>
          `,
        )}
      </div>
      ${text('model', 'Model', 'tutor', 'built in, URL or hf:owner/name')}
      ${engines.includes('web-llm') ? text('web-llm-model', 'Model of WebLLM', 'needed', 'of its catalog') : nothing}
      ${
        engines.includes('endpoint')
          ? [
              text('endpoint', 'Server', 'http://localhost:8000/v1', 'URL'),
              text('endpoint-model', 'Its model', 'needed'),
            ]
          : nothing
      }
      ${select(
        'workload',
        'Workload',
        setup.workload ?? 'fixed',
        Object.keys(WORKLOADS).map((name) => [name, name] as const),
        (value) => onChange({ workload: value === 'fixed' ? undefined : value }),
      )}
      <p class="hint">${sentence(about)}${isChanged ? ' Changed by what is set below.' : nothing}</p>
      ${text('prompt-tokens', 'Prompt tokens', defaultOf('prompt-tokens', '128'))}
      ${text('output-tokens', 'Output tokens', defaultOf('output-tokens', '64'))}
      <p class="hint">A number, or uniform:64-256, exponential:128, lognormal:128,512 (mean and p99).</p>
    </fieldset>

    <fieldset ?disabled=${running}>
      <legend>How it arrives</legend>
      ${select('arrivals', 'Arrivals', arrivals, ARRIVALS, (value) => onChange({ arrivals: value === 'closed' && goal !== 'search' ? undefined : value }))}
      ${arrivals === 'closed' ? [text('users', 'Users', '1'), text('think-time', 'Think time', defaultOf('think-time', '0'), 'ms')] : nothing}
      ${isOpen ? text('rate', arrivals === 'ramp' ? 'Rate at the start' : 'Rate', arrivals === 'ramp' ? '0' : goal === 'run' ? 'needed' : 'found', 'req/s') : nothing}
      ${arrivals === 'gamma' ? text('burstiness', 'Burstiness', '0.5', '1 is Poisson') : nothing}
      ${arrivals === 'ramp' ? text('rate-to', 'Rate at the end', 'needed', 'req/s') : nothing}
      ${
        arrivals === 'trace'
          ? html`<label class="field wide">
                <span>Trace <small>JSON Lines: arrivalMs, promptTokens, outputTokens</small></span>
                <input
                  type="file"
                  accept=".jsonl,.json,.txt"
                  @change=${(event: Event) => {
                    const file = (event.target as HTMLInputElement).files?.[0];
                    if (file) onFile('trace', file);
                  }}
                />
              </label>
              ${text('trace-speed', 'Speed', '1', 'times')}`
          : nothing
      }
    </fieldset>

    <fieldset ?disabled=${running}>
      <legend>How long</legend>
      ${text('requests', 'Requests', isOpen || setup.duration ? 'no limit' : '5')}
      ${text('duration', 'Duration', isOpen && !setup.requests ? '60' : 'no limit', 's')}
      ${text('warm-up', 'Warm-up', '1', 'requests')} ${text('cool-down', 'Cool-down', '0', 's')}
      ${text('precision', 'Stop when TTFT p95 is known to', 'never', '± %')}
    </fieldset>

    <fieldset ?disabled=${running}>
      <legend>What counts</legend>
      ${select(
        'slo',
        'SLO',
        SLOS.some(([name]) => name === (setup.slo ?? 'chat')) ? (setup.slo ?? 'chat') : 'own',
        SLOS,
        (value) => onChange({ slo: value === 'chat' ? undefined : value === 'own' ? 'ttft=500,tpot=50' : value }),
      )}
      ${setup.slo?.includes('=') ? text('slo', 'Limits', 'ttft=500,tpot=50', 'ms; also itl-p95, e2e') : nothing}
      ${select('goal', 'Find out', goal, GOALS, (value) =>
        onChange({
          search: value === 'search' ? 'true' : undefined,
          sweep: value === 'sweep' ? (setup.sweep ?? 'users:1,2,4,8') : undefined,
          ...(value === 'search' && arrivals === 'closed' && { arrivals: 'poisson' }),
        }),
      )}
      ${goal === 'sweep' ? text('sweep', 'Over', 'users:1,2,4,8', 'or rate:0.5,1,2') : nothing}
      ${goal === 'search' ? text('tolerance', 'Tolerance', '3', '%') : nothing}
    </fieldset>

    <details>
      <summary>More</summary>
      <fieldset ?disabled=${running}>
        ${text('turns', 'Turns', defaultOf('turns', '1'), 'per conversation')}
        ${text('shared-prefix', 'Shared prefix', defaultOf('shared-prefix', '0'), '%')}
        ${text('temperature', 'Temperature', '0')} ${text('seed', 'Seed', '1')}
        ${tick('raw', 'Without the chat template')} ${tick('keep-cache', 'Keep the prefix cache after the warm-up')}
        ${tick('gpu-calls', 'Count WebGPU calls')}
      </fieldset>
    </details>
  `;
}
