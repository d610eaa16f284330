import { html, nothing, type TemplateResult } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import { describeAdapter } from '../../src/runtime/bench/headline.ts';
import { describeError, formatBytes, formatMs } from '../../src/ui/index.ts';
import { KINDS, SETTINGS, type SettingName, type Spec } from './contenders.ts';
import type { Lane, LanePhase } from './lane.ts';
import { originOf } from './server-keys.ts';
import { MOST_CONTENDERS, type RaceSetup } from './setup.ts';

export interface ColumnsOptions {
  setup: RaceSetup;
  lanes: readonly Lane[];
  running: boolean;
  onSpecs: (specs: readonly Spec[]) => void;
  onKey: (url: string, key: string) => void;
}

export const LETTERS = 'ABCDEF';

export const columnsView = (options: ColumnsOptions): TemplateResult[] =>
  options.lanes.map((lane, index) => column(lane, index, options));

/** One that is not among them yet, where there is room for another. */
export function addedSpec(specs: readonly Spec[]): Spec | undefined {
  if (specs.length >= MOST_CONTENDERS) return undefined;
  const kind = KINDS.find(({ id }) => !specs.some((spec) => spec.kind.id === id)) ?? KINDS[0]!;
  return { kind, settings: {} };
}

function column(lane: Lane, index: number, options: ColumnsOptions): TemplateResult {
  const { setup, running, onSpecs } = options;
  const spec = setup.specs[index]!;
  const letter = LETTERS[index]!;
  const replace = (changed: Spec | undefined): void =>
    onSpecs(setup.specs.flatMap((other, place) => (place === index ? (changed ?? []) : other)));
  return html`
    <section
      class="column ${lane.phase}"
      style="--racer: var(--racer-${index + 1})"
      aria-label="Contender ${letter}: ${lane.name}"
    >
      <header>
        <span class="letter" aria-hidden="true">${letter}</span>
        <label class="who">
          <span class="hidden-label">Contender ${letter}</span>
          <select
            ?disabled=${running}
            .value=${spec.kind.id}
            @change=${(event: Event) => {
              const { value } = event.target as HTMLSelectElement;
              replace({ kind: KINDS.find(({ id }) => id === value)!, settings: {} });
            }}
          >
            ${KINDS.map(({ id, name }) => html`<option value=${id} ?selected=${id === spec.kind.id}>${name}</option>`)}
          </select>
        </label>
        ${
          setup.specs.length > 2 && !running
            ? html`<button
                type="button"
                class="tool"
                aria-label="Remove contender ${letter}"
                @click=${() => replace(undefined)}
              >
                <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 6l12 12M18 6L6 18" /></svg>
              </button>`
            : nothing
        }
      </header>
      <p class="words">${spec.kind.words}</p>
      ${settingsView(spec, letter, running, replace, options.onKey)} ${trackView(lane, setup)}
      <div class="figures">
        ${lane.error ? errorView(lane) : nothing}
        ${lane.error && lane.measured.length === 0 ? nothing : html`<tg-stats .stats=${lane.stats}></tg-stats>`}
      </div>
      <div class="answer" tabindex="0" role="region" aria-label="Answer of ${letter}">
        <tg-markdown .source=${lane.answer}></tg-markdown>
      </div>
      ${factsView(lane)}
    </section>
  `;
}

function settingsView(
  spec: Spec,
  letter: string,
  running: boolean,
  replace: (spec: Spec) => void,
  onKey: (url: string, key: string) => void,
): TemplateResult {
  const { kind, settings } = spec;
  const set = (name: SettingName, value: string): void => {
    const { [name]: _, ...rest } = settings;
    replace({ kind, settings: value === '' ? rest : { ...rest, [name]: value } });
  };
  const field = (name: SettingName): TemplateResult => {
    const setting = SETTINGS[name];
    const onChange = (event: Event): void => set(name, (event.target as HTMLInputElement).value.trim());
    return html`
      <label class="field">
        <span>${setting.label}</span>
        ${
          'choices' in setting
            ? html`<select .value=${settings[name] ?? ''} @change=${onChange}>
                ${setting.choices.map((choice, place) => {
                  const value = place === 0 ? '' : choice;
                  return html`<option value=${value} ?selected=${value === (settings[name] ?? '')}>${choice}</option>`;
                })}
              </select>`
            : html`<input
                .value=${settings[name] ?? ''}
                placeholder=${setting.hint}
                autocomplete="off"
                spellcheck="false"
                @change=${onChange}
              />`
        }
      </label>
    `;
  };
  const count = Object.keys(settings).length;
  return html`
    <details class="settings" ?open=${kind.id === 'endpoint'}>
      <summary>
        Settings${count ? html` <b>${count}</b>` : nothing}<span class="hidden-label"> of ${letter}</span>
      </summary>
      <fieldset ?disabled=${running}>
        ${kind.settings.map(field)} ${kind.id === 'endpoint' ? keyView(settings.url ?? '', onKey) : nothing}
      </fieldset>
    </details>
  `;
}

/** The key goes to the host that stands beside it, and to no other: another address begins with an empty field. */
function keyView(url: string, onKey: (url: string, key: string) => void): TemplateResult {
  const origin = originOf(url);
  const host = origin === undefined ? undefined : new URL(origin).host;
  return html`
    <label class="field">
      <span>${host === undefined ? 'Key' : `Key for ${host}`}</span>
      ${keyed(
        origin,
        html`<input
          type="password"
          name="key"
          autocomplete="off"
          ?disabled=${host === undefined}
          placeholder=${host === undefined ? 'name the server first' : 'kept nowhere'}
          @change=${(event: Event) => onKey(url, (event.target as HTMLInputElement).value)}
        />`,
      )}
    </label>
  `;
}

const PHASES: Readonly<Record<LanePhase, string>> = {
  idle: 'not started',
  loading: 'loading',
  ready: 'ready',
  'warm-up': 'warm-up, left out',
  running: '',
  done: 'finished',
  failed: 'out of the race',
  cancelled: 'stopped',
};

/** How far the load or the answer is, as a bar to be raced along, and how many rounds are run. */
function trackView(lane: Lane, { tokens, rounds }: RaceSetup): TemplateResult {
  const { phase, progress, waitedMs } = lane;
  const words = progress
    ? progress.label
    : phase === 'running'
      ? `round ${lane.rounds + 1} of ${rounds}`
      : PHASES[phase];
  const waits = waitedMs === undefined ? undefined : `waiting ${formatMs(waitedMs).value} ${formatMs(waitedMs).unit}`;
  const bytes = progress?.loadedBytes ? formatBytes(progress.loadedBytes) : undefined;
  const written = lane.tokens ? `${lane.tokens} tokens` : undefined;
  return html`
    <div class="track" aria-hidden="true"><i style="inline-size: ${shareOf(lane, tokens) * 100}%"></i></div>
    <p class="state"><span>${words}</span> <span class="count">${bytes ?? waits ?? written ?? nothing}</span></p>
  `;
}

function shareOf({ phase, progress, tokens }: Lane, most: number): number {
  if (progress) return progress.totalBytes ? Math.min(1, progress.loadedBytes / progress.totalBytes) : 0;
  return phase === 'done' ? 1 : Math.min(1, tokens / most);
}

function errorView({ error }: Lane): TemplateResult {
  const { title, advice } = describeError(error!);
  return html`
    <div class="failure" role="alert">
      <p class="title">${title} <code>${error!.code}</code></p>
      <p>${advice}</p>
      <p class="sentence">${error!.message}</p>
    </div>
  `;
}

/** What it ran on, which is what makes its figures what they are. */
function factsView({ info, loadedBytes, storedBytes, samples }: Lane): TemplateResult {
  if (!info) return html`<dl class="facts"></dl>`;
  const { adapter, threads, model, version, worker } = info;
  const sample = samples.at(-1);
  const server = info.engine.startsWith('endpoint');
  const ranOn = adapter
    ? `GPU: ${describeAdapter(adapter)}`
    : server
      ? 'a server'
      : `CPU, ${threads === 1 ? '1 thread' : `${threads ?? '?'} threads`}`;
  const bytes = loadedBytes || model.weightBytes;
  const counted =
    sample && (sample.ids.length ? 'by their ids' : sample.outputTokens ? 'as the library counts them' : 'not at all');
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Ran on', `${ranOn}${worker ? ', in a worker' : server ? '' : ', in the page'}`],
    ['Precision', model.quantization],
    [
      'Downloaded',
      bytes ? `${formatBytes(bytes)} of model${storedBytes >= bytes ? ', from this device' : ''}` : undefined,
    ],
    ['Version', version],
    ['Tokens counted', counted],
  ];
  return html`
    <dl class="facts">
      ${facts.map(([name, value]) =>
        value
          ? html`<dt>${name}</dt>
              <dd>${value}</dd>`
          : nothing,
      )}
    </dl>
  `;
}
