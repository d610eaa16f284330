import { html, LitElement, nothing } from 'lit';
import { DEVICES, findDevice } from '../../runtime/metrics/devices.ts';
import {
  decodeOn,
  EXAMPLE_MODELS,
  prefillOn,
  type StepForecast,
  type WhatIfModel,
} from '../../runtime/metrics/hardware-what-if.ts';
import { PRECISIONS, type PrecisionId } from '../../runtime/metrics/precision.ts';
import { costPerMillionTokens, forecast, solveSlo } from '../../runtime/metrics/what-if.ts';
import {
  ABSENT,
  formatBytes,
  formatCount,
  formatDuration,
  formatMs,
  formatMsPerToken,
  formatRate,
  formatSignificant,
} from '../internal/format.ts';
import { renderFigure } from '../internal/render-figure.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { placeOf, sliderStops } from './log-slider.ts';
import { whatIfStyles } from './what-if.styles.ts';

/** What was measured here, to start from; what is absent is assumed. */
export interface Measured {
  ttftMs?: number | undefined;
  itlMs?: number | undefined;
  prefillTokensPerSecond?: number | undefined;
  promptTokens?: number | undefined;
  /** Of the prompt, tokens that the cache had: they took no time to read. */
  cachedTokens?: number | undefined;
}

/** A model to be put on other hardware. */
export interface WhatIfSubject extends WhatIfModel {
  id: string;
}

interface Slider {
  name: SliderName;
  label: string;
  shownIn: 'tokens' | 'users' | 'ms' | 's';
  stops: readonly number[];
}
type SliderName = 'promptTokens' | 'outputTokens' | 'itlMs' | 'users' | 'limitMs';
type Values = Record<SliderName, number>;

const SLIDERS: readonly Slider[] = [
  { name: 'promptTokens', label: 'Prompt', shownIn: 'tokens', stops: sliderStops(8, 32_000, true) },
  { name: 'outputTokens', label: 'Answer', shownIn: 'tokens', stops: sliderStops(1, 4_000, true) },
  { name: 'itlMs', label: 'Each token', shownIn: 'ms', stops: sliderStops(0.5, 500, false) },
  { name: 'users', label: 'Users at once', shownIn: 'users', stops: sliderStops(1, 64, true) },
  { name: 'limitMs', label: 'Must end within', shownIn: 's', stops: sliderStops(100, 120_000, true) },
];
const START: Values = { promptTokens: 128, outputTokens: 128, itlMs: 25, users: 1, limitMs: 3000 };

const MODELS = {
  llama3_8b: { id: 'Llama 3 8B', ...EXAMPLE_MODELS.llama3_8b },
  llama3_70b: { id: 'Llama 3 70B', ...EXAMPLE_MODELS.llama3_70b },
} as const;
const CARDS = [1, 2, 4, 8] as const;
const START_PRICE = 2;
/** Of an hour; what costs more is a slip of the finger. */
const MOST_PRICE = 1e6;

interface Elsewhere {
  model: 'this' | keyof typeof MODELS;
  device: string;
  precision: PrecisionId;
  cards: number;
  /** In the currency of the reader; absent while the field holds no price. */
  pricePerHour: number | undefined;
}

/**
 * The model of latency with sliders: how long an answer takes, the other way round what a limit allows, and the floor of the same model on other
 * hardware. Begins with what was measured here.
 *
 * @summary What if the prompt, the answer, the speed or the device were another
 */
export class TgWhatIf extends LitElement {
  static override styles = [tokens, controls, whatIfStyles];
  static override properties = {
    measured: {
      attribute: false,
      hasChanged: (now: Measured, before?: Measured) => JSON.stringify(now) !== JSON.stringify(before),
    },
    model: { attribute: false },
    slots: { type: Number },
    chosen: { state: true },
    elsewhere: { state: true },
  };

  /** Where sliders stand until they are moved. @default {} */
  declare measured: Measured;
  /** The model that runs here; absent before one is loaded. */
  declare model: WhatIfSubject | undefined;
  /** Requests that run at once; the others wait. @default 1, as in this page */
  declare slots: number;
  declare private chosen: Partial<Values>;
  declare private elsewhere: Elsewhere;

  constructor() {
    super();
    this.measured = {};
    this.slots = 1;
    this.chosen = {};
    this.elsewhere = { model: 'llama3_8b', device: 'a100-80g', precision: 'f16', cards: 1, pricePerHour: START_PRICE };
  }

  /** Sliders, and what they stand at. */
  get values(): Values {
    const { itlMs, promptTokens } = this.measured;
    return {
      ...START,
      ...(itlMs !== undefined && itlMs > 0 && { itlMs }),
      ...(promptTokens !== undefined && promptTokens > 0 && { promptTokens }),
      ...this.chosen,
    };
  }

  /**
   * The part of TTFT that does not grow with the prompt, the tokens to compute, and the rate at which they are. What the cache had of the prompt it
   * is taken to have of any other.
   */
  #firstToken(promptTokens: number): { ttftMs: number; promptTokens: number; prefillTokensPerSecond?: number } {
    const { ttftMs = 0, prefillTokensPerSecond: rate, promptTokens: measured, cachedTokens = 0 } = this.measured;
    if (rate === undefined || rate <= 0 || measured === undefined) return { ttftMs, promptTokens };
    const readMs = (Math.max(0, measured - cachedTokens) / rate) * 1000;
    return {
      ttftMs: Math.max(0, ttftMs - readMs),
      promptTokens: Math.max(0, promptTokens - cachedTokens),
      prefillTokensPerSecond: rate,
    };
  }

  readonly #handleSlide = (event: Event): void => {
    const { name, value } = event.target as HTMLInputElement;
    const slider = SLIDERS.find((candidate) => candidate.name === name);
    const stop = slider?.stops[Number(value)];
    if (slider && stop !== undefined) this.chosen = { ...this.chosen, [slider.name]: stop };
  };

  /** The button goes; who pressed it by keyboard goes on at the sliders, not at the top of the page. */
  readonly #handleBack = (): void => {
    this.chosen = {};
    this.renderRoot.querySelector<HTMLInputElement>('.sliders input')?.focus();
  };

  readonly #handleChoice = (event: Event): void => {
    const { name, value } = event.target as HTMLSelectElement;
    this.elsewhere = { ...this.elsewhere, [name]: name === 'cards' ? Number(value) : value };
  };

  /** A price that is none gives no cost, and above all not that of the price before. */
  readonly #handlePrice = ({ target }: Event): void => {
    const { value } = target as HTMLInputElement;
    const price = value === '' ? NaN : Number(value);
    this.elsewhere = { ...this.elsewhere, pricePerHour: price >= 0 && price <= MOST_PRICE ? price : undefined };
  };

  #renderSlider(slider: Slider, value: number) {
    const { name, label, shownIn, stops } = slider;
    const shown = {
      tokens: `${formatCount(value)} tokens`,
      users: formatCount(value),
      ms: formatDuration(value),
      s: inSeconds(value),
    }[shownIn];
    return html`
      <label>
        <span>${label}</span>
        <input
          type="range"
          name=${name}
          min="0"
          max=${stops.length - 1}
          .value=${String(placeOf(value, stops))}
          aria-valuetext=${shown}
          @input=${this.#handleSlide}
        />
        <output class="figure">${shown}</output>
      </label>
    `;
  }

  #renderForecast(values: Values) {
    const { promptTokens, outputTokens, itlMs, users, limitMs } = values;
    const first = this.#firstToken(promptTokens);
    const scenario = { ...first, outputTokens, itlMs, concurrency: users, slots: this.slots };
    const { ttftMs, e2eMs, worstE2eMs, systemTokensPerSecond } = forecast(scenario);
    const { maxOutputTokens, neededItlMs } = solveSlo({
      ...first,
      itlMs,
      outputTokens,
      e2eLimitMs: limitMs,
    });
    return html`
      <div class="result" aria-live="off">
        <p class="hero">${renderFigure(formatMs(e2eMs))} <span class="name">for the whole answer</span></p>
        <p class="formula">
          E2E = TTFT + (out − 1) × ITL<br />
          = ${formatDuration(ttftMs)} + ${formatCount(outputTokens - 1)} × ${formatDuration(itlMs)} =
          <b>${formatDuration(e2eMs)}</b>
        </p>
        <dl>
          <div>
            <dt>Last of ${formatCount(users)} ${users === 1 ? 'user' : 'users'}</dt>
            <dd>${renderFigure(formatMs(worstE2eMs))}</dd>
          </div>
          <div>
            <dt>All users together</dt>
            <dd>${renderFigure(formatRate(systemTokensPerSecond))}</dd>
          </div>
          <div>
            <dt>Within ${inSeconds(limitMs)}, at most</dt>
            <dd class="figure"><b>${formatCount(maxOutputTokens)}</b> <span class="unit">tokens</span></dd>
          </div>
          <div>
            <dt>Or each token in</dt>
            <dd>
              ${neededItlMs === undefined ? html`<span class="figure"><b>${ABSENT}</b></span>` : renderFigure(formatMs(neededItlMs))}
            </dd>
          </div>
        </dl>
        <p class="note">
          ${this.#basis()}
          ${this.slots === 1 ? 'One request runs at a time, as in this page.' : `${this.slots} requests run at once.`}
        </p>
      </div>
    `;
  }

  /** What the forecast rests on. */
  #basis(): string {
    const { ttftMs, itlMs, prefillTokensPerSecond, promptTokens, cachedTokens = 0 } = this.measured;
    if (ttftMs === undefined && itlMs === undefined) return 'Nothing was measured yet: the speed is an assumption.';
    const token = itlMs === undefined ? 'The time of a token is an assumption: none was measured yet. ' : '';
    if (prefillTokensPerSecond === undefined || promptTokens === undefined)
      return `${token}TTFT does not grow with the prompt here: how fast a prompt is read was not measured.`;
    const cached =
      cachedTokens > 0 ? ` ${formatCount(cachedTokens)} tokens of it are taken to be in the cache, as they were.` : '';
    return `${token}TTFT grows with the prompt at the prefill rate that was measured here.${cached}`;
  }

  #subject(): WhatIfSubject | undefined {
    return this.elsewhere.model === 'this' ? this.model : MODELS[this.elsewhere.model];
  }

  #renderElsewhere({ promptTokens, outputTokens }: Values) {
    const { model, device: deviceId, precision, cards } = this.elsewhere;
    const device = findDevice(deviceId);
    const subject = this.#subject();
    const setup = device && { device, precision, cards, contextTokens: promptTokens + outputTokens };
    const decode = subject && setup && decodeOn(subject, setup);
    const prefill = subject && setup && prefillOn(subject, { ...setup, contextTokens: 0 }, promptTokens);
    return html`
      <div class="fields">
        ${renderSelect(
          'model',
          'Model',
          model,
          [
            ...(this.model ? [['this', this.model.id] as const] : []),
            ...Object.entries(MODELS).map(([id, { id: name }]) => [id, name] as const),
          ],
          this.#handleChoice,
        )}
        ${renderSelect(
          'device',
          'On',
          deviceId,
          DEVICES.map(({ id, name }) => [id, name] as const),
          this.#handleChoice,
        )}
        ${renderSelect(
          'precision',
          'Weights in',
          precision,
          PRECISIONS.map(({ id, name }) => [id, name] as const),
          this.#handleChoice,
        )}
        ${renderSelect(
          'cards',
          'Cards',
          String(cards),
          CARDS.map((n) => [String(n), String(n)] as const),
          this.#handleChoice,
        )}
        <label class="field">
          <span>Price an hour</span>
          <input
            type="number"
            name="pricePerHour"
            min="0"
            max=${MOST_PRICE}
            step="0.1"
            value=${START_PRICE}
            aria-invalid=${this.elsewhere.pricePerHour === undefined}
            @input=${this.#handlePrice}
          />
        </label>
      </div>
      ${decode && prefill ? this.#renderFloor(decode, prefill) : html`<p class="note">No model is loaded yet.</p>`}
      ${device ? html`<p class="note">${device.basis === 'published' ? 'Peaks as published' : 'Peaks derived'}: ${device.source}.</p>` : nothing}
    `;
  }

  #renderFloor(decode: StepForecast, prefill: StepForecast) {
    const rate = decode.tokensPerSecond;
    const { pricePerHour, cards } = this.elsewhere;
    const cost =
      rate === undefined || pricePerHour === undefined ? undefined : costPerMillionTokens(pricePerHour * cards, rate);
    return html`
      <div class="result">
        <p class="hero">${renderFigure(formatMsPerToken(decode.stepMs))} <span class="name">at the very least</span></p>
        <dl>
          <div>
            <dt>Limited by</dt>
            <dd>${decode.boundBy ?? ABSENT}</dd>
          </div>
          <div>
            <dt>One user reads</dt>
            <dd>${renderFigure(formatRate(rate))}</dd>
          </div>
          <div>
            <dt>Least TTFT</dt>
            <dd>${renderFigure(formatMs(prefill.stepMs))}</dd>
          </div>
          <div>
            <dt>Weights</dt>
            <dd class="figure"><b>${formatBytes(decode.weightBytes)}</b></dd>
          </div>
          <div>
            <dt>A million tokens, one user</dt>
            <dd class="figure"><b>${formatSignificant(cost, 3)}</b></dd>
          </div>
        </dl>
        ${decode.fits ? nothing : html`<p class="unfit" role="status">This does not fit the memory there: take more cards, or fewer bits.</p>`}
        <p class="note">
          The floor of the roofline: ${formatBytes(decode.bytes)} read in a step, at batch 1. Real programs take longer.
        </p>
      </div>
    `;
  }

  protected override render() {
    const { values } = this;
    const moved = Object.keys(this.chosen).length > 0;
    return html`<div class="halves">
      <div class="half">
        <h4>The answer were another</h4>
        <div class="sliders">${SLIDERS.map((slider) => this.#renderSlider(slider, values[slider.name]))}</div>
        ${moved ? html`<button type="button" class="quiet" @click=${this.#handleBack}>Back to what was measured</button>` : nothing}
        ${this.#renderForecast(values)}
      </div>
      <div class="half">
        <h4>It ran elsewhere</h4>
        ${this.#renderElsewhere(values)}
      </div>
    </div>`;
  }
}

const renderSelect = (
  name: string,
  label: string,
  chosen: string,
  options: readonly (readonly [value: string, name: string])[],
  onChange: (event: Event) => void,
) => html`
  <label class="field">
    <span>${label}</span>
    <select name=${name} @change=${onChange}>
      ${options.map(([value, words]) => html`<option value=${value} ?selected=${value === chosen}>${words}</option>`)}
    </select>
  </label>
`;

const inSeconds = (ms: number): string => `${formatSignificant(ms / 1000)} s`;

declare global {
  interface HTMLElementTagNameMap {
    'tg-what-if': TgWhatIf;
  }
}

if (!customElements.get('tg-what-if')) customElements.define('tg-what-if', TgWhatIf);
