import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { quietFrames, until } from '../testing/counting.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { ABSENT } from '../internal/format.ts';
import type { TgDataTable } from '../data-table/data-table.ts';
import { histogram } from './histogram.ts';
import { TgItlChart } from './itl-chart.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe('histogram', () => {
  it('histogram: every sample is counted once, also beyond the last bin', () => {
    const samples = Float64Array.from({ length: 1000 }, (_, at) => (at === 999 ? 5000 : 10 + (at % 10))).sort();
    const { counts, beyond, fromMs, widthMs } = histogram(samples);
    expect(sum(counts)).to.equal(1000);
    expect(beyond).to.equal(1);
    expect((fromMs.at(-1) ?? 0) + widthMs).to.be.lessThan(40);
  });

  it('histogram: gaps of zero and no samples at all make no NaN', () => {
    expect(sum(histogram([0, 0]).counts)).to.equal(2);
    expect(histogram([])).to.deep.equal({ fromMs: [], counts: [], widthMs: 0, beyond: 0 });
  });

  it('histogram: of a few samples the largest is not cut off', () => {
    expect(histogram([10, 12, 400]).beyond).to.equal(0);
  });
});

describe('TgItlChart', () => {
  afterEach(unmountAll);

  const figures = (element: TgItlChart) =>
    [...element.renderRoot.querySelectorAll('dd b')].map((b) => b.textContent.replace(',', '.'));

  it('TgItlChart: percentiles stand beside their n', async () => {
    const element = new TgItlChart();
    element.gapsMs = Array.from({ length: 101 }, (_, at) => 100 - at);
    element.of = 'of 2 answers';
    await mount(element);
    expect(figures(element)).to.deep.equal(['50.0', '95.0', '99.0', '100', '101']);
    expect(element.renderRoot.textContent).to.include('n = 101 gaps of 2 answers.');
  });

  it('TgItlChart: without gaps every percentile is a dash, and n is 0', async () => {
    const element = await mount(new TgItlChart());
    expect(figures(element)).to.deep.equal([ABSENT, ABSENT, ABSENT, ABSENT, '0']);
    expect(element.draws).to.equal(0);
  });

  it('TgItlChart: draws when gaps change, and only then', async () => {
    const element = new TgItlChart();
    element.gapsMs = [10, 12, 11];
    await mount(element);
    await until(() => element.draws > 0);
    element.of = 'of one answer';
    await quietFrames();
    expect(element.draws).to.equal(1);
  });

  it('TgItlChart: the same figures are in a table, which is empty work while it is closed', async () => {
    const element = new TgItlChart();
    element.gapsMs = [10, 12, 11];
    await mount(element);
    const table = inside<TgDataTable>(element, 'tg-data-table');
    expect(table.renderRoot.querySelector('table')).to.equal(null);
    table.open = true;
    await table.updateComplete;
    const counts = [...table.renderRoot.querySelectorAll('td:last-child')].map((cell) => Number(cell.textContent));
    expect(sum(counts)).to.equal(3);
  });

  it('TgItlChart: axe finds nothing serious', async () => {
    const element = new TgItlChart();
    element.gapsMs = [10, 12, 11];
    await mount(element);
    await until(() => element.draws > 0);
    inside<TgDataTable>(element, 'tg-data-table').open = true;
    await element.updateComplete;
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
