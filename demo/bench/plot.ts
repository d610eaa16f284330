import uPlot from 'uplot';
import type { Chart } from './charts.ts';

/** Reads custom properties as a canvas needs them, where `host` stands. */
function themeOf(host: HTMLElement, scale = 1): { font: string; colour: (property: string) => string } {
  const probe = host.appendChild(document.createElement('i'));
  const font = `${11 * scale}px ${getComputedStyle(host).fontFamily}`;
  const known = new Map<string, string>();
  const colour = (property: string): string => {
    let value = known.get(property);
    if (value === undefined) {
      probe.style.color = `var(${property})`;
      value = getComputedStyle(probe).color;
      known.set(property, value);
    }
    return value;
  };
  for (const property of [
    '--ink-3',
    '--line',
    '--surface',
    '--chart-limit',
    '--chart-1',
    '--chart-2',
    '--chart-3',
    '--chart-4',
  ])
    colour(property);
  probe.remove();
  return { font, colour };
}

/** Options of uPlot for a chart, in the colours of the page around `host`. @param scale of everything but the size */
function optionsOf(chart: Chart, host: HTMLElement, width: number, height: number, scale = 1): uPlot.Options {
  const { font, colour } = themeOf(host, scale);
  const axis: uPlot.Axis = {
    stroke: colour('--ink-3'),
    font,
    labelFont: font,
    labelSize: 18 * scale,
    labelGap: 2 * scale,
    gap: 4 * scale,
    ticks: { show: false },
    grid: { stroke: colour('--line'), width: scale },
  };
  const seriesOf = ({ name, colour: property, look }: Chart['series'][number]): uPlot.Series => {
    const stroke = colour(property);
    if (look === 'points')
      return { label: name, stroke, paths: () => null, points: { show: true, size: 6 * scale, stroke, fill: stroke } };
    if (look === 'limit')
      return { label: name, stroke, width: scale, dash: [5 * scale, 4 * scale], points: { show: false } };
    return {
      label: name,
      stroke,
      width: 2 * scale,
      points: { show: true, size: 5 * scale, fill: stroke },
      spanGaps: true,
    };
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: (_, least, most) => [Math.min(0, least), most > 0 ? most * 1.02 : 1] },
      y: { range: (_, __, most) => [0, (most || 1) * 1.08] },
    },
    axes: [
      { ...axis, space: 50 * scale, size: 26 * scale, label: chart.axes[0], grid: { show: false } },
      { ...axis, space: 30 * scale, size: 44 * scale, label: chart.axes[1] },
    ],
    series: [{}, ...chart.series.map(seriesOf)],
  };
}

/** Charts in `host`, drawn again with new data, another size or another theme. */
export class Plots {
  readonly #host: HTMLElement;
  readonly #resize: ResizeObserver;
  readonly #dark = matchMedia('(prefers-color-scheme: dark)');
  readonly #theme: MutationObserver;
  #charts: readonly Chart[] = [];
  #plots: uPlot[] = [];
  #frame = 0;

  constructor(host: HTMLElement) {
    this.#host = host;
    const again = (): void => this.#schedule();
    this.#resize = new ResizeObserver(again);
    this.#resize.observe(host);
    this.#dark.addEventListener('change', again);
    this.#theme = new MutationObserver(again);
    this.#theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  }

  show(charts: readonly Chart[]): void {
    this.#charts = charts;
    this.#schedule();
  }

  /** At most once a frame: a run may end many requests in one. */
  #schedule(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    for (const plot of this.#plots.splice(0)) plot.destroy();
    this.#host.replaceChildren(
      ...this.#charts.map((chart) => {
        const figure = document.createElement('figure');
        const caption = figure.appendChild(document.createElement('figcaption'));
        caption.append(chart.title, ...(chart.series.length > 1 ? [legendOf(chart)] : []));
        return figure;
      }),
    );
    for (const [index, chart] of this.#charts.entries()) {
      const figure = this.#host.children[index] as HTMLElement;
      figure.setAttribute('role', 'img');
      figure.setAttribute(
        'aria-label',
        `${chart.title}: ${chart.axes[1]} over ${chart.axes[0]}. The figures are in the table.`,
      );
      const width = Math.floor(figure.clientWidth - 2 * parseFloat(getComputedStyle(figure).paddingInlineStart));
      if (width > 0) this.#plots.push(new uPlot(optionsOf(chart, figure, width, 200), chart.data, figure));
    }
  }
}

function legendOf({ series }: Chart): HTMLElement {
  const legend = document.createElement('span');
  legend.className = 'legend';
  for (const { name, colour } of series) {
    const entry = legend.appendChild(document.createElement('span'));
    const swatch = entry.appendChild(document.createElement('i'));
    swatch.style.background = `var(${colour})`;
    entry.append(name);
  }
  return legend;
}

const PNG = { width: 640, height: 300, scale: 2, margin: 24, header: 76, title: 26 };

/** All charts under a header, as one picture. @param host whose colours they have */
export async function chartsPng(charts: readonly Chart[], header: readonly string[], host: HTMLElement): Promise<Blob> {
  const { width, height, scale, margin, header: headerHeight, title } = PNG;
  const canvas = document.createElement('canvas');
  canvas.width = (width + 2 * margin) * scale;
  canvas.height = (headerHeight + charts.length * (height + title + margin) + margin) * scale;
  const context = canvas.getContext('2d')!;
  context.scale(scale, scale);
  const style = getComputedStyle(host);
  const { colour } = themeOf(host);
  context.fillStyle = colour('--surface');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = 'top';
  for (const [index, line] of header.entries()) {
    context.font = `${index === 0 ? '600 13px' : '11px'} ${style.fontFamily}`;
    context.fillStyle = index === 0 ? style.color : colour('--ink-3');
    context.fillText(line, margin, margin + index * 18, width);
  }
  for (const [index, chart] of charts.entries()) {
    const top = headerHeight + index * (height + title + margin) + margin / 2;
    drawCaption(context, chart, margin, top, style, colour);
    const drawn = await drawnChart(chart, host, width, height);
    context.drawImage(drawn, margin, top + title, width, height);
  }
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new TypeError('Cannot make the picture: the browser gave none');
  return blob;
}

function drawCaption(
  context: CanvasRenderingContext2D,
  { title, series }: Chart,
  left: number,
  top: number,
  style: CSSStyleDeclaration,
  colour: (property: string) => string,
): void {
  context.font = `600 12px ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.fillText(title, left, top);
  let x = left + context.measureText(title).width + 16;
  context.font = `11px ${style.fontFamily}`;
  for (const { name, colour: property } of series.length > 1 ? series : []) {
    context.fillStyle = colour(property);
    context.fillRect(x, top + 2, 8, 8);
    context.fillStyle = style.color;
    context.fillText(name, x + 12, top);
    x += context.measureText(name).width + 28;
  }
}

/** The canvas of a chart that is not shown, in the resolution of the picture. */
async function drawnChart(chart: Chart, host: HTMLElement, width: number, height: number): Promise<HTMLCanvasElement> {
  const hidden = host.appendChild(document.createElement('div'));
  hidden.style.cssText = 'position: absolute; inline-size: 0; block-size: 0; overflow: hidden';
  const { scale } = PNG;
  const plot = new uPlot(optionsOf(chart, hidden, width * scale, height * scale, scale), chart.data, hidden);
  await new Promise((resolve) => setTimeout(resolve)); // uPlot draws in a microtask
  const copy = document.createElement('canvas');
  const { canvas } = plot.ctx;
  copy.width = canvas.width;
  copy.height = canvas.height;
  copy.getContext('2d')!.drawImage(canvas, 0, 0);
  plot.destroy();
  hidden.remove();
  return copy;
}
