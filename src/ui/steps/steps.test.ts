import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { quietFrames, until } from '../testing/counting.ts';
import { inBothSchemes, inside, mount, press, unmountAll } from '../testing/fixture.ts';
import type { TgDataTable } from '../data-table/data-table.ts';
import { TgSteps } from './steps.ts';
import type { TokenTick } from './ticks.ts';

const ticks = (count: number): TokenTick[] =>
  Array.from({ length: count }, (_, at) => ({
    index: at + 1,
    id: 100 + at,
    ...(at > 0 && { gapMs: at === 3 ? 90 : 10, parts: { host: 1, compute: 8, rest: 1 } }),
  }));

async function steps(of: readonly TokenTick[]) {
  const element = new TgSteps();
  element.ticks = of;
  await mount(element);
  return element;
}

const detail = (element: TgSteps) => inside(element, '.detail').textContent.replace(/\s+/g, ' ').trim();

describe('TgSteps', () => {
  afterEach(unmountAll);

  it('TgSteps: draws once, and no more while nothing changes', async () => {
    const element = await steps(ticks(8));
    await until(() => element.draws > 0);
    await quietFrames();
    expect(element.draws).to.equal(1);
    element.ticks = ticks(9);
    element.ticks = ticks(10);
    await until(() => element.draws > 1);
    await quietFrames();
    expect(element.draws).to.equal(2);
  });

  it('TgSteps: moved to another place of the page, it is drawn there', async () => {
    const element = await steps(ticks(8));
    await until(() => element.draws > 0);
    const { draws } = element;
    document.body.prepend(element);
    await until(() => element.draws > draws);
    expect(inside<HTMLCanvasElement>(element, 'canvas').width).to.be.greaterThan(0);
  });

  it('TgSteps: a change of theme draws anew, in the colours of that theme', async () => {
    const element = await steps(ticks(8));
    await until(() => element.draws > 0);
    const pixels = () => {
      const canvas = inside<HTMLCanvasElement>(element, 'canvas');
      return canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data.join('') ?? '';
    };
    const before = pixels();
    element.setAttribute('theme', 'dark');
    await until(() => element.draws > 1);
    expect(pixels()).not.to.equal(before);
  });

  it('TgSteps: keys that scroll the table, and those of the browser, are left to them', async () => {
    const element = await steps(ticks(6));
    await until(() => element.draws > 0);
    const table = inside<TgDataTable>(element, 'tg-data-table');
    table.open = true;
    await table.updateComplete;
    const scroller = inside(table, '.scroll');
    for (const key of ['ArrowLeft', 'ArrowRight', 'Home', 'End'])
      expect(press(scroller, key).defaultPrevented, key).to.equal(false);
    expect(press(inside(element, '.keys'), 'ArrowLeft', { altKey: true }).defaultPrevented).to.equal(false);
    expect(press(inside(element, '.keys'), 'ArrowLeft').defaultPrevented).to.equal(true);
  });

  it('TgSteps: a gap of ten seconds is that many ms in the table, and a late delivery has its unit', async () => {
    const element = await steps([{ index: 1 }, { index: 2, gapMs: 12_000, deliveryMs: 15_000 }]);
    expect(detail(element)).to.match(/delivered after 15[.,]0 s/);
    const table = inside<TgDataTable>(element, 'tg-data-table');
    table.open = true;
    await table.updateComplete;
    const cells = [...table.renderRoot.querySelectorAll('tbody tr:last-child td')].map(
      ({ textContent }) => textContent,
    );
    expect(cells.slice(0, 2).map((cell) => cell.replace(/\D/g, ''))).to.deep.equal(['2', '12000']);
  });

  it('TgSteps: tells of the longest, and by arrow keys of each', async () => {
    const element = await steps(ticks(6));
    await until(() => element.draws > 0);
    expect(detail(element)).to.match(/Longest: token 4 90[.,]0 ms\/token id 103/);
    const keys = inside(element, '.keys');
    // A longest token that changes while text streams is not read out; what the user asks for is.
    expect(inside(element, '.detail').getAttribute('aria-live')).to.equal('off');
    press(keys, 'Home');
    press(keys, 'ArrowRight');
    await element.updateComplete;
    expect(inside(element, '.detail').getAttribute('aria-live')).to.equal('polite');
    expect(detail(element)).to.match(/^Token 3 10[.,]0/);
    press(keys, 'End');
    await element.updateComplete;
    expect(detail(element)).to.match(/^Token 6 /);
    press(keys, 'Escape');
    await element.updateComplete;
    expect(detail(element)).to.include('Longest');
  });

  it('TgSteps: one token has no gap, and nothing is drawn', async () => {
    const element = await steps(ticks(1));
    await quietFrames();
    expect(element.draws).to.equal(0);
    expect(element.renderRoot.querySelector('canvas')).to.equal(null);
    expect(element.renderRoot.textContent).to.include('once there are two');
  });

  it('TgSteps: of thousands of tokens it draws those that fit', async () => {
    const element = await steps(ticks(5000));
    await until(() => element.draws > 0);
    press(inside(element, '.keys'), 'Home');
    await element.updateComplete;
    expect(Number(/Token (\d+)/.exec(detail(element))?.[1])).to.be.greaterThan(4000);
  });

  it('TgSteps: axe finds nothing serious', async () => {
    const element = await steps(ticks(8));
    await until(() => element.draws > 0);
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
