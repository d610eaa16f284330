import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { inside, mount, unmountAll } from '../testing/fixture.ts';
import { TICK_COUNT, tickPaths } from './tick-paths.ts';
import { TgTimeline } from './timeline.ts';

const ticks = (path: string) => path.split('M').length - 1;

describe('tickPaths', () => {
  it('tickPaths: a tick a gap, the slow ones apart and with a foot', () => {
    const { usual, slow, topMs } = tickPaths([10, 20, 150, 10], 100);
    expect([ticks(usual), ticks(slow), topMs]).to.deep.equal([3, 2, 150]);
  });

  it('tickPaths: nothing measured gives nothing, and gaps of zero no NaN', () => {
    expect(tickPaths([], 100)).to.deep.equal({ usual: '', slow: '', topMs: undefined });
    expect(tickPaths([0, 0], 100).usual).not.to.include('NaN');
  });
});

describe('TgTimeline', () => {
  afterEach(unmountAll);

  it('TgTimeline: shows the newest gaps that fit, and says what they are', async () => {
    const element = new TgTimeline();
    element.gapsMs = Array.from({ length: 500 }, (_, index) => index);
    await mount(element);
    expect(ticks(inside(element, '.usual').getAttribute('d') ?? '')).to.equal(TICK_COUNT);
    expect(inside(element, '[role=img]').getAttribute('aria-label')).to.include('499 milliseconds');
  });

  it('TgTimeline: axe finds nothing serious', async () => {
    const element = new TgTimeline();
    element.gapsMs = [10, 200];
    element.slowMs = 100;
    await mount(element);
    expect(await seriousViolations(element)).to.deep.equal([]);
  });
});
