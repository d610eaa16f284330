import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { quietFrames, until } from '../testing/counting.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { TgRoofline } from './roofline-chart.ts';
import { rooflineView, type RooflinePoint } from './roofline-range.ts';

const PEAKS = { bytesPerSecond: 100e9, flopPerSecond: 1e12 };
const DECODE: RooflinePoint = { kind: 'decode', intensity: 0.5, gflops: 25, shareOfFloor: 0.5 };
const PREFILL: RooflinePoint = { kind: 'prefill', intensity: 60, gflops: 400, shareOfFloor: 0.4 };

describe('rooflineView', () => {
  it('rooflineView: the roof is the lower of slope and peak, with its corner at the ridge', () => {
    const view = rooflineView([DECODE], PEAKS)!;
    const at = view.intensity.indexOf(10);
    expect(view.roof[at]).to.equal(1000);
    for (const [index, intensity] of view.intensity.entries())
      expect(view.roof[index]).to.be.closeTo(Math.min(intensity * 100, 1000), 1e-6);
  });

  it('rooflineView: points and both parts of the roof are in the picture', () => {
    const { xRange, yRange } = rooflineView([DECODE, PREFILL], PEAKS)!;
    for (const { intensity, gflops } of [DECODE, PREFILL]) {
      expect(intensity).to.be.within(...xRange);
      expect(gflops).to.be.within(...yRange);
    }
    expect(xRange[0]).to.be.lessThan(10);
    expect(xRange[1]).to.be.greaterThan(10);
    expect(yRange[1]).to.be.greaterThan(1000);
  });

  it('rooflineView: points alone make a view without a roof; nothing makes none', () => {
    expect(rooflineView([DECODE], {})!.roof.every((value) => value === null)).to.equal(true);
    expect(rooflineView([], {})).to.equal(undefined);
    expect(rooflineView([{ ...DECODE, gflops: 0 }], {})).to.equal(undefined);
  });
});

describe('TgRoofline', () => {
  afterEach(unmountAll);

  async function roofline(set: Partial<TgRoofline>) {
    const element = Object.assign(new TgRoofline(), set);
    return mount(element);
  }
  const label = (element: TgRoofline) => inside(element, '[role=img]').getAttribute('aria-label') ?? '';

  it('TgRoofline: says in words what it draws', async () => {
    const element = await roofline({ points: [DECODE, PREFILL], peaks: PEAKS });
    expect(label(element))
      .to.include('100 gigabytes')
      .and.to.include('Decode: 25 GFLOP/s')
      .and.to.include('50 percent');
  });

  it('TgRoofline: without a probe there is no roof, and it says so', async () => {
    const element = await roofline({ points: [{ kind: 'decode', intensity: 0.5, gflops: 25 }] });
    expect(element.renderRoot.textContent).to.include('was not measured yet');
    expect(label(element)).not.to.match(/NaN|undefined/);
  });

  it('TgRoofline: draws when something changes, and only then', async () => {
    const element = await roofline({ points: [DECODE], peaks: PEAKS });
    await until(() => element.draws > 0);
    await quietFrames();
    expect(element.draws).to.equal(1);
    element.points = [PREFILL];
    await until(() => element.draws > 1);
  });

  it('TgRoofline: axe finds nothing serious', async () => {
    const element = await roofline({ points: [DECODE, PREFILL], peaks: PEAKS });
    await until(() => element.draws > 0);
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
