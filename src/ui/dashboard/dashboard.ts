import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type { StepTrace } from '../../shared/trace.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { peaksOf, type DeviceProbe } from '../../runtime/metrics/probe/device-probe.ts';
import type { DevicePeaks } from '../../runtime/metrics/step-split.ts';
import type { TgChat } from '../chat/chat.ts';
import { FollowController } from '../controllers/follow-controller.ts';
import '../context-chart/context-chart.ts';
import { formatMs } from '../internal/format.ts';
import { PacedFrame } from '../internal/paced-frame.ts';
import { paceOf } from '../internal/view-pace.ts';
import '../itl-chart/itl-chart.ts';
import '../memory/memory.ts';
import { PHASE_WORDS } from '../overlay/overlay-card.ts';
import { partsOf } from '../overlay/ttft-parts.ts';
import '../parts-bar/parts-bar.ts';
import '../roofline/roofline-chart.ts';
import '../stats/stats.ts';
import '../steps/steps.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import '../verdict/verdict.ts';
import '../what-if/what-if.ts';
import { DashboardModel } from './dashboard-model.ts';
import { readDeep, readLive, whatIfModel, type DeepView, type LiveView } from './dashboard-views.ts';
import { dashboardStyles } from './dashboard.styles.ts';
import { downloadJson } from './download.ts';
import { traceOf } from './export-trace.ts';
import { keptProbe, measureDevice } from './measure-device.ts';
import { probeWords } from './probe-words.ts';

/**
 * Everything that is measured of a model that runs in this page: the figures of the answer, where its time went, every token, and what limits
 * it here. Follows an engine, and a chat for the times at which text reached the page. Draws at most once a frame, and only when
 * something has changed.
 *
 * @summary Where every millisecond goes
 * @csspart section - A part with its heading
 *
 * @example
 * ```ts
 * dashboard.source = document.querySelector('tg-chat')!;
 * dashboard.engine = engine;
 * ```
 */
export class TgDashboard extends LitElement {
  static override styles = [tokens, controls, dashboardStyles];
  static override properties = {
    engine: { attribute: false },
    source: { attribute: false },
    measure: { attribute: false },
    probe: { attribute: false },
    live: { state: true },
    deep: { state: true },
    kind: { state: true },
    measuring: { state: true },
    problem: { state: true },
    announcement: { state: true },
  };

  /** Whose steps and requests are followed. Another one begins anew. */
  declare engine: Engine | undefined;
  /** A chat whose requests are followed as the page sees them. */
  declare source: TgChat | undefined;
  /** Measures the device of an engine, on request of the user; undefined takes the button away. @default the probe of `tokenglass/metrics` */
  declare measure: ((engine: Engine) => Promise<DeviceProbe>) | undefined;
  /** What was measured of this device; set by `measure`, or from outside. */
  declare probe: DeviceProbe | undefined;
  declare private live: LiveView;
  declare private deep: DeepView;
  declare private kind: StepTrace['kind'];
  declare private measuring: boolean;
  declare private problem: string;
  declare private announcement: string;

  readonly #model = new DashboardModel();
  readonly #liveFrame = new PacedFrame(
    () => (this.live = this.#readLive()),
    () => paceOf(this.engine?.info).liveMs,
  );
  readonly #deepFrame = new PacedFrame(
    () => (this.deep = this.#readDeep()),
    () => paceOf(this.engine?.info).deepMs,
  );

  constructor() {
    super();
    new FollowController(this, {
      onStep: (step) => this.#note(() => this.#model.onStep(step)),
      onRequest: (request) => this.#note(() => this.#model.onRequest(request), true),
      onCall: () => {
        this.announcement = '';
        this.#note(() => this.#model.onCall(), true);
      },
      onStart: (start) => this.#note(() => this.#model.onStart(start), true),
      onFirstText: (ttftMs) => this.#note(() => this.#model.onFirstText(ttftMs), true),
      onTokens: (output, deliveredMs) => this.#note(() => this.#model.onTokens(output, deliveredMs)),
      onEnd: (trace, outcome) => {
        this.#note(() => this.#model.onEnd(trace, outcome), true);
        if (trace) this.#announce();
      },
      onHidden: () => this.#model.onHidden(),
      onShown: (atMs) => this.#model.onShown(atMs),
    });
    this.measure = measureDevice;
    this.kind = 'decode';
    this.measuring = false;
    this.problem = '';
    this.announcement = '';
    this.live = this.#readLive();
    this.deep = this.#readDeep();
  }

  /** Recorded steps and requests as a Chrome trace, which Perfetto opens. */
  exportTrace() {
    return traceOf(this.#model.log, this.#model.deliveries, this.engine?.info);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#liveFrame.cancel();
    this.#deepFrame.cancel();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('engine')) {
      if (changed.get('engine') !== undefined) this.#model.clear();
      // A probe is of a device, and the new engine may compute on another one.
      if (changed.get('engine') !== undefined && !changed.has('probe')) this.probe = undefined;
      this.problem = '';
      this.live = this.#readLive();
      if (this.engine && this.measure === measureDevice) void this.#recall(this.engine);
    }
    if (changed.has('engine') || changed.has('probe')) this.deep = this.#readDeep();
  }

  get #peaks(): DevicePeaks {
    return this.probe ? peaksOf(this.probe) : {};
  }

  /** @param now - draw in the next frame, whenever it was drawn last */
  #note(change: () => void, now = false): void {
    change();
    this.#liveFrame.request(now);
    this.#deepFrame.request(now);
  }

  #readLive(): LiveView {
    return readLive(this.#model, this.engine?.info);
  }

  #readDeep(): DeepView {
    return readDeep(this.#model, this.engine?.info, this.#peaks);
  }

  /** Once an answer; the chat reads the answer itself. */
  #announce(): void {
    const info = this.engine?.info;
    if (info) this.announcement = this.#model.diagnose('decode', info, this.#peaks).plain;
  }

  /** A device is measured once, and not at every visit. */
  async #recall(engine: Engine): Promise<void> {
    const probe = await keptProbe(engine.info);
    if (probe && engine === this.engine) this.probe ??= probe;
  }

  readonly #handleMeasure = async (): Promise<void> => {
    const { engine, measure } = this;
    if (!engine || !measure || this.measuring) return;
    this.measuring = true;
    this.problem = '';
    try {
      const probe = await measure(engine);
      if (engine === this.engine) this.probe = probe;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.measuring = false;
    }
  };

  readonly #handleExport = (): void => downloadJson('tokenglass-trace.json', this.exportTrace());

  #renderBar() {
    const { phase } = this.#model.figures;
    return html`
      <header>
        <h2>Latency <span class="phase">${PHASE_WORDS[phase]}</span></h2>
        <div class="actions">
          ${
            this.measure
              ? html`<button
                  type="button"
                  class=${this.probe ? 'outline' : 'solid'}
                  ?disabled=${!this.engine}
                  aria-disabled=${this.measuring /* a disabled button would lose the focus of who pressed it */}
                  @click=${this.#handleMeasure}
                >
                  ${this.measuring ? 'Measuring …' : this.probe ? 'Measure again' : 'Measure this device'}
                </button>`
              : nothing
          }
          <button
            type="button"
            class="outline"
            ?disabled=${this.#model.log.stepCount === 0}
            title="Chrome trace JSON; Perfetto opens it"
            @click=${this.#handleExport}
          >
            Export trace
          </button>
        </div>
      </header>
      ${this.problem === '' ? nothing : html`<p class="problem" role="alert">${this.problem}</p>`}
    `;
  }

  #renderVerdict() {
    const choose = (kind: StepTrace['kind'], name: string) => html`
      <button type="button" aria-pressed=${this.kind === kind} @click=${() => (this.kind = kind)}>${name}</button>
    `;
    return html`
      <section part="section" class="wide">
        <div class="head">
          <h3>What limits the speed here</h3>
          <div class="choice" role="group" aria-label="Kind of step">
            ${choose('decode', 'Each word')} ${choose('prefill', 'First word')}
          </div>
        </div>
        <tg-verdict .diagnosis=${this.deep[this.kind]}></tg-verdict>
      </section>
    `;
  }

  #renderFirst() {
    const { parts, ttftMs } = this.#model.figures;
    const { value, unit } = formatMs(ttftMs);
    return html`
      <section part="section">
        <h3>The wait for the first token</h3>
        <tg-parts-bar .parts=${partsOf(parts ?? {})}></tg-parts-bar>
        <p class="caption">
          ${parts ? `The parts add up to TTFT: ${value} ${unit}, from the call to the first text in the page.` : 'TTFT by its parts, once a first token was delivered.'}
        </p>
      </section>
    `;
  }

  #renderRoof() {
    return html`
      <section part="section" class="wide">
        <h3>Under the roof of this device</h3>
        <tg-roofline .points=${this.deep.points} .peaks=${this.deep.peaks}></tg-roofline>
        ${this.probe ? html`<p class="caption">${probeWords(this.probe)}</p>` : nothing}
      </section>
    `;
  }

  #renderContext() {
    return html`
      <section part="section">
        <h3>What a longer context costs</h3>
        <tg-context-chart .samples=${this.deep.samples} .floor=${this.deep.floor}></tg-context-chart>
      </section>
    `;
  }

  #renderMemory() {
    return html`
      <section part="section">
        <h3>Memory</h3>
        <tg-memory .use=${this.deep.memory}></tg-memory>
      </section>
    `;
  }

  #renderWhatIf() {
    const { stats } = this.live;
    const model = this.engine?.info.model;
    return html`
      <section part="section" class="wide">
        <h3>What if</h3>
        <tg-what-if
          .measured=${{ ttftMs: stats.ttftMs, itlMs: stats.msPerToken, prefillTokensPerSecond: stats.prefillTokensPerSecond, promptTokens: stats.promptTokens, cachedTokens: stats.cachedTokens }}
          .model=${model && whatIfModel(model)}
        ></tg-what-if>
      </section>
    `;
  }

  protected override render() {
    return html`
      <div class="dashboard">
        ${this.#renderBar()}
        <section part="section" class="wide tiles"><tg-stats .stats=${this.live.stats}></tg-stats></section>
        ${this.#renderVerdict()}
        <section part="section" class="wide">
          <h3>Every token</h3>
          <tg-steps .ticks=${this.live.ticks}></tg-steps>
        </section>
        ${this.#renderFirst()} ${this.#renderMemory()}
        <section part="section">
          <h3>Gaps between tokens</h3>
          <tg-itl-chart .gapsMs=${this.deep.gapsMs} .of=${this.deep.of}></tg-itl-chart>
        </section>
        ${this.#renderContext()} ${this.#renderRoof()} ${this.#renderWhatIf()}
      </div>
      <div class="sr-only" role="status" aria-live="polite">${this.announcement}</div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-dashboard': TgDashboard;
  }
}

if (!customElements.get('tg-dashboard')) customElements.define('tg-dashboard', TgDashboard);
