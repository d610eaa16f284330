import { expect } from 'chai';
import { diagnose } from '../../runtime/metrics/diagnosis.ts';
import { madeSteps, ROUND_DEVICE } from '../../runtime/metrics/testing/known-bottleneck.ts';
import type { TgPartsBar } from '../parts-bar/parts-bar.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { TgVerdict } from './verdict.ts';

const memoryBound = () =>
  diagnose(madeSteps({ memoryMs: 8, efficiency: 0.9 }), 'decode', { device: 'gpu', peaks: ROUND_DEVICE });

async function verdict(diagnosis: TgVerdict['diagnosis']) {
  const element = new TgVerdict();
  element.diagnosis = diagnosis;
  return mount(element);
}

describe('TgVerdict', () => {
  afterEach(unmountAll);

  it('TgVerdict: says it for everybody, for engineers, and what to do, with its n', async () => {
    const diagnosis = memoryBound();
    const text = (await verdict(diagnosis)).renderRoot.textContent.replace(/\s+/g, ' ');
    expect(text).to.include(diagnosis.plain).and.to.include(diagnosis.finding).and.to.include(diagnosis.advice);
    expect(text).to.include(`n = ${diagnosis.n} decode steps`);
  });

  it('TgVerdict: the parts that it shows add up to the mean step', async () => {
    const diagnosis = memoryBound();
    const element = await verdict(diagnosis);
    const parts = inside<TgPartsBar>(element, 'tg-parts-bar').parts;
    expect(parts.reduce((sum, { ms }) => sum + (ms ?? 0), 0)).to.be.closeTo(diagnosis.stepMs ?? NaN, 1e-6);
  });

  it('TgVerdict: without steps there is no verdict, and no figure', async () => {
    const none = diagnose([], 'decode', { device: 'gpu', peaks: {} });
    const element = await verdict(none);
    expect(element.renderRoot.textContent)
      .to.include('Ask something')
      .and.not.to.match(/NaN|undefined/);
    expect(element.renderRoot.querySelector('tg-parts-bar')).to.equal(null);
  });

  it('TgVerdict: axe finds nothing serious', async () => {
    const element = await verdict(memoryBound());
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
