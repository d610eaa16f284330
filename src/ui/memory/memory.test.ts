import { expect } from 'chai';
import { ABSENT } from '../internal/format.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { TgMemory } from './memory.ts';

const USE = { weightBytes: 3_000_000, kvBytesPerToken: 1000, contextTokens: 2000 };

describe('TgMemory', () => {
  afterEach(unmountAll);

  it('TgMemory: parts are as long as their bytes', async () => {
    const element = new TgMemory();
    element.use = { ...USE, usedTokens: 500 };
    await mount(element);
    const width = (name: string) => inside(element, `.bar .${name}`).offsetWidth;
    expect(width('weights') / width('kv')).to.be.closeTo(6, 0.2);
    expect(width('room') / width('kv')).to.be.closeTo(3, 0.1);
    expect(element.renderRoot.textContent).to.include('25 %');
  });

  it('TgMemory: before an answer the KV in use is a dash; before a model it says that there is none', async () => {
    const element = new TgMemory();
    await mount(element);
    expect(element.renderRoot.textContent).to.include('No model is loaded');
    element.use = USE;
    await element.updateComplete;
    expect(element.renderRoot.querySelectorAll('dd.figure')[1]?.textContent).to.equal(ABSENT);
  });

  it('TgMemory: what the engine does not know of its model is a dash, never a 0', async () => {
    const element = new TgMemory();
    element.use = { weightBytes: undefined, kvBytesPerToken: undefined, contextTokens: undefined, usedTokens: 12 };
    await mount(element);
    const figures = [...element.renderRoot.querySelectorAll('dd.figure')].map(({ textContent }) => textContent);
    expect(figures).to.deep.equal([ABSENT, ABSENT, ABSENT]);
    expect(element.renderRoot.textContent).not.to.match(/\b(?:0|NaN)\b/);
  });

  it('TgMemory: axe finds nothing serious', async () => {
    const element = new TgMemory();
    element.use = { ...USE, usedTokens: 500 };
    await mount(element);
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
