import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type { ModelInfo } from '../../shared/info.ts';
import { modelNumber } from '../../shared/model-number.ts';
import type { StepTrace } from '../../shared/trace.ts';
import type { Engine } from '../../runtime/engine/engine.ts';
import type { Diagnosis } from '../../runtime/metrics/diagnosis.ts';
import { peaksOf, type DeviceProbe } from '../../runtime/metrics/probe/device-probe.ts';
import type { DevicePeaks } from '../../runtime/metrics/step-split.ts';
import type { TgChat } from '../chat/chat.ts';
import { FollowController } from '../controllers/follow-controller.ts';
import type { ContextSample } from '../context-chart/context-samples.ts';
import '../context-chart/context-chart.ts';
import { formatMs, formatShare, formatSignificant } from '../internal/format.ts';
import { PacedFrame } from '../internal/paced-frame.ts';
import '../itl-chart/itl-chart.ts';
import '../memory/memory.ts';
import { PHASE_WORDS } from '../overlay/overlay-card.ts';
import { partsOf } from '../overlay/ttft-parts.ts';
import '../parts-bar/parts-bar.ts';
import '../roofline/roofline-chart.ts';
import type { RooflinePoint } from '../roofline/roofline-range.ts';
import '../stats/stats.ts';
import type { Stats } from '../stats/stats.ts';
import '../steps/steps.ts';
import type { TokenTick } from '../steps/ticks.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import '../verdict/verdict.ts';
import '../what-if/what-if.ts';
import { DashboardModel, rooflinePoint } from './dashboard-model.ts';
import { dashboardStyles } from './dashboard.styles.ts';
import { downloadJson } from './download.ts';
import { traceOf } from './export-trace.ts';
import { keptProbe, measureDevice } from './measure-device.ts';

/**
 * How often the page follows a stream, ms: digits and the bars of tokens (faster cannot be read), and what is computed over many steps. Where
 * the CPU computes the model too, each redraw takes from it, so there are fewer.
 */
const PACE = { gpu: { liveMs: 150, deepMs: 600 }, cpu: { liveMs: 400, deepMs: 3000 } };

/** (max - min) / median of a probe's repeats, from which on its number is not to be relied on. */
const UNSTEADY = 0.4;

/** What changes with each token. */
interface LiveView {
  stats: Stats;
  ticks: readonly TokenTick[];
}

/** What is computed over many steps. */
interface DeepView {
  gapsMs: readonly number[];
  of: string;
  samples: readonly ContextSample[];
  points: readonly RooflinePoint[];
  decode?: Diagnosis;
  prefill?: Diagnosis;
  usedTokens?: number | undefined;
}

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
 * dashboard.source = document.querySelector('tg-chat');
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
    () => this.#pace.liveMs,
  );
  readonly #deepFrame = new PacedFrame(
    () => (this.deep = this.#readDeep()),
    () => this.#pace.deepMs,
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
      onEnd: (trace) => {
        this.#note(() => this.#model.onEnd(trace), true);
        if (trace) this.#announce();
      },
      onHidden: () => this.#model.onHidden(),
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

  get #pace(): (typeof PACE)['gpu'] {
    const { adapter, threads } = this.engine?.info ?? {};
    return threads !== undefined || adapter?.isFallback ? PACE.cpu : PACE.gpu;
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
    const info = this.engine?.info;
    const { ttftMs, latency, tokensPerSecond, promptTokens, cachedTokens } = this.#model.figures;
    const used = this.#model.usedTokens;
    return {
      stats: {
        ttftMs,
        msPerToken: latency.p50Ms,
        n: latency.n,
        tokensPerSecond,
        prefillTokensPerSecond: this.#model.prefillTokensPerSecond,
        promptTokens,
        cachedTokens,
        memoryBytes: info && memoryBytesOf(info.model, used ?? 0),
        ...(info?.speculation && { speculation: this.#model.speculation }),
      },
      ticks: this.#model.ticks(info),
    };
  }

  #readDeep(): DeepView {
    const { gapsMs, of } = this.#model.gaps();
    const view = { gapsMs, of, samples: this.#model.contextSamples(), usedTokens: this.#model.usedTokens };
    const info = this.engine?.info;
    if (!info) return { ...view, points: [] };
    const [decode, prefill] = (['decode', 'prefill'] as const).map((kind) =>
      this.#model.diagnose(kind, info, this.#peaks),
    );
    return {
      ...view,
      points: [decode, prefill].flatMap((diagnosis) => (diagnosis ? rooflinePoint(diagnosis) : [])),
      ...(decode && { decode }),
      ...(prefill && { prefill }),
    };
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
                  ?disabled=${!this.engine || this.measuring}
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
        <tg-roofline .points=${this.deep.points} .peaks=${this.#peaks}></tg-roofline>
        ${this.probe ? html`<p class="caption">${probeWords(this.probe)}</p>` : nothing}
      </section>
    `;
  }

  #renderContext() {
    const { bytesPerSecond } = this.#peaks;
    const model = this.engine?.info.model;
    const [weightBytes, kvBytesPerToken] = model
      ? [modelNumber(model, 'weightBytes'), modelNumber(model, 'kvBytesPerToken')]
      : [];
    const floor =
      weightBytes !== undefined && kvBytesPerToken !== undefined && bytesPerSecond !== undefined
        ? { weightBytes, kvBytesPerToken, bytesPerSecond }
        : undefined;
    return html`
      <section part="section">
        <h3>What a longer context costs</h3>
        <tg-context-chart .samples=${this.deep.samples} .floor=${floor}></tg-context-chart>
      </section>
    `;
  }

  #renderMemory() {
    const model = this.engine?.info.model;
    const use = model && {
      weightBytes: modelNumber(model, 'weightBytes'),
      kvBytesPerToken: modelNumber(model, 'kvBytesPerToken'),
      contextTokens: modelNumber(model, 'contextTokens'),
      usedTokens: this.deep.usedTokens,
    };
    return html`
      <section part="section">
        <h3>Memory</h3>
        <tg-memory .use=${use}></tg-memory>
      </section>
    `;
  }

  #renderWhatIf() {
    const { stats } = this.live;
    return html`
      <section part="section" class="wide">
        <h3>What if</h3>
        <tg-what-if
          .measured=${{ ttftMs: stats.ttftMs, itlMs: stats.msPerToken, prefillTokensPerSecond: stats.prefillTokensPerSecond, promptTokens: stats.promptTokens }}
          .model=${subjectOf(this.engine?.info.model)}
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

function memoryBytesOf(model: ModelInfo, usedTokens: number): number | undefined {
  const [weightBytes, kvBytes] = [modelNumber(model, 'weightBytes'), modelNumber(model, 'kvBytesPerToken')];
  return weightBytes === undefined || kvBytes === undefined ? undefined : weightBytes + usedTokens * kvBytes;
}

/** The model, where it is known well enough to be put on other hardware. */
function subjectOf(model: ModelInfo | undefined): ModelInfo | undefined {
  const needed = ['parameters', 'layers', 'hiddenSize', 'kvBytesPerToken'] as const;
  return model && needed.every((name) => modelNumber(model, name) !== undefined) ? model : undefined;
}

/** What was measured, with the spread: a number without it says less than it seems to. */
function probeWords({ readBytesPerSecond, flopPerSecond, dispatchMs, tookMs }: DeviceProbe): string {
  const spread = (share: number) => `± ${formatShare(share / 2).value} %`;
  const { f32 } = flopPerSecond;
  const measured = [
    ...(readBytesPerSecond
      ? [`${formatSignificant(readBytesPerSecond.value / 1e9)} GB/s ${spread(readBytesPerSecond.spread)}`]
      : []),
    ...(f32 ? [`${formatSignificant(f32.value / 1e9)} GFLOP/s in f32 ${spread(f32.spread)}`] : []),
    ...(dispatchMs ? [`${formatSignificant(dispatchMs.value * 1000)} µs for a dispatch`] : []),
  ];
  if (measured.length === 0) return 'Nothing could be measured honestly on this device.';
  const isUnsteady = [readBytesPerSecond, f32].some((rate) => rate !== undefined && rate.spread > UNSTEADY);
  const doubt = isUnsteady
    ? ' The repeats differ a lot: something else keeps the device busy; measure again when it rests.'
    : '';
  return `Measured here in ${formatSignificant(tookMs / 1000)} s: ${measured.join(', ')}.${doubt}`;
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-dashboard': TgDashboard;
  }
}

if (!customElements.get('tg-dashboard')) customElements.define('tg-dashboard', TgDashboard);
