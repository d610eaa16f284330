import type { LitElement, ReactiveController } from 'lit';
import type uPlot from 'uplot';
import { FrameScheduler } from '../internal/frame-scheduler.ts';
import { readChartTheme, type ChartTheme } from './chart-theme.ts';

/** The class itself, for its path builders. */
export type PlotLibrary = typeof uPlot;
export type PlotOptions = Omit<uPlot.Options, 'width' | 'height'>;

/** What a chart draws; size, cursor and the look of axes are the controller's. */
export interface PlotSpec {
  options: (theme: ChartTheme, library: PlotLibrary) => PlotOptions;
  /** Undefined while there is nothing to draw: the chart is then taken away. */
  data: () => uPlot.AlignedData | undefined;
  /** The sample under the pointer; null for none. */
  onHover?: (index: number | null) => void;
}

/** uPlot is fetched when the first chart has something to show: a page with a chat alone does not pay for it. */
const library = async (): Promise<PlotLibrary> => (await import('uplot')).default;

/**
 * One uPlot chart in the element `.plot` of its host, which has a `.theme-probe` beside it. Draws in an animation frame, at most once, after
 * {@link draw}, a change of size or a change of theme; nothing is drawn out of sight.
 */
export class PlotController implements ReactiveController {
  readonly #host: LitElement;
  readonly #spec: PlotSpec;
  readonly #frame = new FrameScheduler(() => this.#render());
  readonly #resize = new ResizeObserver(() => this.#handleSize());
  readonly #sight = new IntersectionObserver((entries) => this.#handleSight(entries), { rootMargin: '256px' });
  #plot: uPlot | undefined;
  #uPlot: PlotLibrary | undefined;
  #size = { width: 0, height: 0 };
  #inSight = false;
  #dirty = false;
  #rebuild = false;
  #container: HTMLElement | undefined;
  #draws = 0;

  constructor(host: LitElement, spec: PlotSpec) {
    this.#host = host;
    this.#spec = spec;
    host.addController(this);
  }

  /** How often the canvas was drawn. */
  get draws(): number {
    return this.#draws;
  }

  /** The chart, once there is one. */
  get plot(): uPlot | undefined {
    return this.#plot;
  }

  /** Moved within the page, say: nothing else would have it drawn. */
  hostConnected(): void {
    if (this.#host.hasUpdated) this.#host.requestUpdate();
  }

  hostDisconnected(): void {
    this.#resize.disconnect();
    this.#sight.disconnect();
    this.#container?.parentElement?.removeEventListener('transitionrun', this.#handleTheme);
    this.#container = undefined;
    this.#frame.cancel();
    this.#drop();
  }

  hostUpdated(): void {
    const container = this.#host.renderRoot.querySelector<HTMLElement>('.plot');
    if (!container || container === this.#container) return;
    this.#resize.disconnect();
    this.#sight.disconnect();
    this.#container = container;
    this.#resize.observe(container);
    this.#sight.observe(container);
    // The probe's colours have a transition, so that any change of theme, wherever it comes from, is told.
    container.parentElement?.addEventListener('transitionrun', this.#handleTheme);
    this.#rebuild = true;
    this.draw();
  }

  /** Draws in the next frame. @param anew with new options, not with new data alone */
  draw(anew = false): void {
    this.#dirty = true;
    this.#rebuild ||= anew;
    if (this.#inSight) this.#frame.request();
  }

  /** Moves the cursor to a sample; null takes it away. Draws nothing. */
  point(index: number | null): void {
    if (!this.#plot) return;
    const value = index === null ? undefined : this.#plot.data[0][index];
    if (value === undefined) this.#plot.setCursor({ left: -10, top: -10 });
    else this.#plot.setCursor({ left: this.#plot.valToPos(value, 'x'), top: 0 });
  }

  readonly #handleTheme = (event: Event): void => {
    if ((event.target as Element).classList.contains('theme-watch')) this.draw(true);
  };

  #handleSize(): void {
    const { clientWidth: width, clientHeight: height } = this.#container ?? { clientWidth: 0, clientHeight: 0 };
    if (width === this.#size.width && height === this.#size.height) return;
    this.#size = { width, height };
    this.draw();
  }

  #handleSight(entries: readonly IntersectionObserverEntry[]): void {
    this.#inSight = entries.at(-1)?.isIntersecting ?? false;
    if (this.#inSight && this.#dirty) this.#frame.request();
  }

  #render(): void {
    const { width, height } = this.#size;
    const container = this.#container;
    if (!container || width === 0 || height === 0) return;
    const data = this.#spec.data();
    if (!data) {
      this.#dirty = false;
      this.#drop();
      return;
    }
    if (!this.#uPlot) {
      void library().then((loaded) => {
        this.#uPlot = loaded;
        if (this.#dirty && this.#container) this.#frame.request();
      });
      return;
    }
    this.#dirty = false;
    if (this.#rebuild) this.#drop();
    this.#rebuild = false;
    if (!this.#plot) this.#create(container, data);
    else {
      const { width: drawnWidth, height: drawnHeight } = this.#plot;
      this.#plot.batch(() => {
        if (width !== drawnWidth || height !== drawnHeight) this.#plot?.setSize({ width, height });
        this.#plot?.setData(data);
      });
    }
  }

  #create(container: HTMLElement, data: uPlot.AlignedData): void {
    const probe = container.parentElement?.querySelector<HTMLElement>('.theme-probe');
    if (!this.#uPlot || !probe) return;
    const options = this.#spec.options(readChartTheme(probe), this.#uPlot);
    this.#plot = new this.#uPlot(
      {
        ...options,
        ...this.#size,
        legend: { show: false },
        cursor: {
          show: this.#spec.onHover !== undefined,
          y: false,
          points: { show: false },
          drag: { x: false, y: false, setScale: false },
          ...options.cursor,
        },
        hooks: {
          ...options.hooks,
          draw: [...(options.hooks?.draw ?? []), () => (this.#draws += 1)],
          setCursor: [({ cursor }) => this.#spec.onHover?.(cursor.idx ?? null)],
        },
      },
      data,
      container,
    );
  }

  #drop(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
  }
}
