import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { quietFrames, until } from '../testing/counting.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { TgContextChart } from './context-chart.ts';
import { contextColumns } from './context-samples.ts';

const samples = Array.from({ length: 120 }, (_, at) => ({ contextTokens: 140 - at, ms: 10 + (140 - at) / 10 }));

describe('contextColumns', () => {
  it('contextColumns: ascending by context, with the median of neighbours', () => {
    const { contextTokens, ms, medianMs } = contextColumns(samples);
    expect(contextTokens).to.deep.equal([...contextTokens].sort((a, b) => a - b));
    expect(ms[0]).to.be.closeTo(12.1, 1e-9);
    const medians = medianMs.filter((value) => value !== null);
    expect(medians).to.have.length(12);
    for (const [at, median] of medianMs.entries()) if (median !== null) expect(median).to.be.closeTo(ms[at]!, 0.06);
  });

  it('contextColumns: nothing gives nothing', () => {
    expect(contextColumns([])).to.deep.equal({ contextTokens: [], ms: [], medianMs: [] });
  });
});

describe('TgContextChart', () => {
  afterEach(unmountAll);

  async function chart(set: Partial<TgContextChart>) {
    return mount(Object.assign(new TgContextChart(), set));
  }

  it('TgContextChart: says what the shortest and the longest context cost, and n', async () => {
    const element = await chart({ samples });
    expect(inside(element, '[role=img]').getAttribute('aria-label')).to.match(
      /1\d[.,]\d milliseconds at a context of \d+ tokens/,
    );
    expect(element.renderRoot.textContent).to.include('n = 120 decode steps');
  });

  it('TgContextChart: without steps it says so and draws nothing', async () => {
    const element = await chart({});
    await quietFrames();
    expect(element.draws).to.equal(0);
    expect(element.renderRoot.textContent).to.include('Each token of an answer makes a point here');
  });

  it('TgContextChart: draws once and then rests; axe finds nothing serious', async () => {
    const element = await chart({ samples, floor: { weightBytes: 3e6, kvBytesPerToken: 6000, bytesPerSecond: 1e9 } });
    await until(() => element.draws > 0);
    await quietFrames();
    expect(element.draws).to.equal(1);
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
