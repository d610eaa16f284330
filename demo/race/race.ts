import { html, nothing, render } from 'lit';
import '../../src/ui/dashboard/index.ts';
import '../../src/ui/index.ts';
import { saveReport } from '../bench/export.ts';
import { find } from '../present/find.ts';
import { wireTheme } from '../theme.ts';
import { addedSpec, columnsView } from './columns-view.ts';
import { RaceSession } from './race-session.ts';
import { resultsView } from './results-view.ts';
import { ORDERS, type RaceSetup } from './setup.ts';

const form = find(document, 'form#setup');
const columns = find(document, 'div#columns');
const results = find(document, 'div#results');
const add = find(document, 'div#add');
const status = find(document, 'p#status');
let frame: number | undefined;

const session = new RaceSession(location.search, requestDraw);

/** Once a frame at the most, however many tokens come. */
function requestDraw(): void {
  frame ??= requestAnimationFrame(() => {
    frame = undefined;
    draw();
    // The clock of a wait moves without an event.
    if (session.lanes.some(({ waitedMs }) => waitedMs !== undefined)) requestDraw();
  });
}

function draw(): void {
  const { setup, running, lanes, outcome } = session;
  render(formView(setup, running), form);
  render(
    columnsView({
      setup,
      lanes,
      running,
      onSpecs: (specs) => session.change({ specs }),
      onKey: (url, key) => session.keys.set(url, key),
    }),
    columns,
  );
  render(addView(setup, running), add);
  render(outcome ? resultsView(outcome, lanes) : nothing, results);
  if (status.textContent !== session.status) status.textContent = session.status;
  status.classList.toggle('failed', session.failed);
  document.body.dataset['state'] = running ? 'running' : outcome ? 'result' : 'idle';
}

function formView(setup: RaceSetup, running: boolean) {
  const number = (name: 'tokens' | 'rounds' | 'warmUp', label: string, least: number, most: number) => html`
    <label class="field small">
      <span>${label}</span>
      <input
        type="number"
        min=${least}
        max=${most}
        required
        ?disabled=${running}
        .value=${String(setup[name])}
        @change=${(event: Event) => {
          const input = event.target as HTMLInputElement;
          if (input.reportValidity()) session.change({ [name]: input.valueAsNumber });
        }}
      />
    </label>
  `;
  const text = (name: 'prompt' | 'model', label: string, kind: string) => html`
    <label class="field ${kind}">
      <span>${label}</span>
      <input
        name=${name}
        autocomplete="off"
        required
        ?disabled=${running}
        .value=${setup[name]}
        @change=${(event: Event) => session.change({ [name]: (event.target as HTMLInputElement).value.trim() || setup[name] })}
      />
    </label>
  `;
  return html`
    ${text('prompt', 'All are asked', 'grow')} ${text('model', 'Model', 'model')}
    ${number('tokens', 'Most tokens', 2, 4096)} ${number('rounds', 'Rounds', 1, 1000)}
    ${number('warmUp', 'Warm-up', 0, 10)}
    <label class="field">
      <span>They run</span>
      <select
        name="order"
        ?disabled=${running}
        .value=${setup.order}
        @change=${(event: Event) => session.change({ order: (event.target as HTMLSelectElement).value as RaceSetup['order'] })}
      >
        ${ORDERS.map(([name, words]) => html`<option value=${name} ?selected=${name === setup.order}>${words}</option>`)}
      </select>
    </label>
    <div class="actions">
      ${
        running
          ? html`<button type="button" class="primary" id="cancel" @click=${() => session.cancel()}>Cancel</button>`
          : html`<button type="submit" class="primary" id="start">Race</button>`
      }
      <button type="button" class="tool wide" @click=${(event: Event) => void copyLink(event.target as HTMLElement)}>
        Copy link
      </button>
      ${
        session.outcome && !running
          ? html`<button
              type="button"
              class="tool wide"
              @click=${() => void saveReport(session.outcome!.report, 'json', results)}
            >
              Save report
            </button>`
          : nothing
      }
    </div>
  `;
}

/** Beside the status: a column of its own would take the room of one. */
function addView({ specs }: RaceSetup, running: boolean) {
  const added = running ? undefined : addedSpec(specs);
  return added
    ? html`<button type="button" class="tool wide" @click=${() => session.change({ specs: [...specs, added] })}>
        Add a contender
      </button>`
    : nothing;
}

async function copyLink(button: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(session.address);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'It is in the address bar'; // the clipboard may be refused
  }
  setTimeout(() => (button.textContent = 'Copy link'), 2000);
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void session.run();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && session.running) session.cancel();
});

wireTheme(find(document, 'button#theme'));
draw();
