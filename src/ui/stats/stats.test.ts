import { expect } from 'chai';
import { ABSENT } from '../internal/format.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, mount, unmountAll } from '../testing/fixture.ts';
import { TgStats, type Stats } from './stats.ts';

async function stats(of: Stats) {
  const element = new TgStats();
  element.stats = of;
  return mount(element);
}

const tiles = (element: TgStats) =>
  [...element.renderRoot.querySelectorAll('.tile')].map((tile) => tile.textContent.replace(/\s+/g, ' ').trim());

describe('TgStats', () => {
  afterEach(unmountAll);

  it('TgStats: what was not measured is a dash that is read as such', async () => {
    const element = await stats({});
    expect(tiles(element)).to.have.length(6);
    for (const tile of tiles(element)) expect(tile).to.include(ABSENT).and.to.include('not measured');
    expect(tiles(element).join(' ')).not.to.match(/NaN|undefined|Infinity/);
  });

  it('TgStats: figures with their feel, their n and what they are of', async () => {
    const element = await stats({
      ttftMs: 240,
      msPerToken: 55,
      n: 79,
      tokensPerSecond: 18.2,
      prefillTokensPerSecond: 900,
      promptTokens: 200,
      cachedTokens: 150,
      memoryBytes: 4e6,
    });
    const [first, token, , prefill, cached, memory] = tiles(element);
    expect(first).to.include('240 milliseconds').and.to.include('feels instant');
    expect(token).to.include('slower than reading').and.to.include('median of n = 79 gaps');
    expect(prefill).to.include('prefill of 50 tokens');
    expect(cached).to.include('75 percent').and.to.include('150 of 200 tokens');
    expect(memory).to.match(/4[.,]0 MB/);
  });

  it('TgStats: thresholds of feel are data', async () => {
    const element = await stats({ ttftMs: 240 });
    element.ttftFeel = [{ upToMs: Infinity, feel: 'slow', words: 'is too slow for us' }];
    await element.updateComplete;
    expect(tiles(element)[0]).to.include('too slow for us');
  });

  it('TgStats: axe finds nothing serious', async () => {
    const element = await stats({ ttftMs: 240, msPerToken: 200 });
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
