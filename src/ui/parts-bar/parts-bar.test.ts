import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, mount, unmountAll } from '../testing/fixture.ts';
import { TgPartsBar } from './parts-bar.ts';

describe('TgPartsBar', () => {
  afterEach(unmountAll);

  it('TgPartsBar: segments are as long as their share, and each part is named with its figure', async () => {
    const element = new TgPartsBar();
    element.parts = [
      { key: 'prefill', label: 'Prefill', ms: 300 },
      { key: 'sample', label: 'First sample', ms: 100 },
      { key: 'cache', label: 'Cache', ms: undefined },
      { key: 'queue', label: 'Queue', ms: 0 },
    ];
    await mount(element);
    const [prefill, sample, ...more] = [...element.renderRoot.querySelectorAll<HTMLElement>('.bar i')];
    expect(more).to.deep.equal([]);
    expect(prefill!.offsetWidth / sample!.offsetWidth).to.be.closeTo(3, 0.1);
    const rows = [...element.renderRoot.querySelectorAll('dd')].map((dd) => dd.getAttribute('aria-label'));
    expect(rows[0]).to.equal('300 milliseconds');
    expect(rows[2]).to.equal('not measured');
    expect(rows[3]).to.match(/^0[.,]00 milliseconds$/);
  });

  it('TgPartsBar: axe finds nothing serious', async () => {
    const element = new TgPartsBar();
    element.parts = [{ key: 'prefill', label: 'Prefill', ms: 300 }];
    await mount(element);
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
