import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { placeOf, SLIDER_STEPS, valueAt } from './log-slider.ts';
import { TgWhatIf } from './what-if.ts';

const MODEL = { id: 'tutor', parameters: 4e6, layers: 8, hiddenSize: 256, kvBytesPerToken: 6144 };

async function whatIf(set: Partial<TgWhatIf> = {}) {
  return mount(Object.assign(new TgWhatIf(), set));
}

const text = (element: TgWhatIf, selector: string) =>
  inside(element, selector)
    .textContent.replace(/\s+/g, ' ')
    .replace(/,(?=\d)/g, '.')
    .trim();

async function slide(element: TgWhatIf, name: string, place: number) {
  const input = inside<HTMLInputElement>(element, `input[name=${name}]`);
  input.value = String(place);
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await element.updateComplete;
}

async function choose(element: TgWhatIf, name: string, value: string) {
  const select = inside<HTMLSelectElement>(element, `select[name=${name}]`);
  select.value = value;
  select.dispatchEvent(new Event('change', { bubbles: true }));
  await element.updateComplete;
}

describe('log slider', () => {
  it('valueAt: reaches both ends, and placeOf finds the place again', () => {
    expect(valueAt(0, 8, 32_000, true)).to.equal(8);
    expect(valueAt(SLIDER_STEPS, 8, 32_000, true)).to.equal(32_000);
    for (const place of [40, 120, 180])
      expect(placeOf(valueAt(place, 8, 32_000, true), 8, 32_000)).to.be.closeTo(place, 1);
    expect(placeOf(1e9, 8, 32_000)).to.equal(SLIDER_STEPS);
  });
});

describe('TgWhatIf', () => {
  afterEach(unmountAll);

  it('TgWhatIf: begins with what was measured, and shows the formula with its numbers', async () => {
    const element = await whatIf({
      measured: { ttftMs: 200, itlMs: 20, prefillTokensPerSecond: 1000, promptTokens: 100 },
    });
    // 200 ms of TTFT, of which 100 are reading; 128 tokens: 200 + 127 * 20.
    expect(text(element, '.formula')).to.include('= 200 ms + 127 × 20.0 ms = 2.740 ms');
    expect(element.values).to.deep.include({ promptTokens: 100, itlMs: 20 });
  });

  it('TgWhatIf: a longer prompt takes longer to read; the way back is one button', async () => {
    const element = await whatIf({
      measured: { ttftMs: 200, itlMs: 20, prefillTokensPerSecond: 1000, promptTokens: 100 },
    });
    await slide(element, 'promptTokens', placeOf(1000, 8, 32_000));
    const { promptTokens } = element.values;
    expect(promptTokens).to.be.closeTo(1000, 40);
    expect(text(element, '.formula')).to.include(`= ${(100 + promptTokens).toLocaleString().replace(/,(?=\d)/g, '.')}`);
    inside(element, 'button').click();
    await element.updateComplete;
    expect(element.values.promptTokens).to.equal(100);
  });

  it('TgWhatIf: a new measurement moves only the sliders that the user has not', async () => {
    const element = await whatIf({ measured: { ttftMs: 200, itlMs: 20 } });
    await slide(element, 'outputTokens', placeOf(500, 1, 4000));
    element.measured = { ttftMs: 200, itlMs: 40 };
    await element.updateComplete;
    expect(element.values.itlMs).to.equal(40);
    expect(element.values.outputTokens).to.be.closeTo(500, 20);
  });

  it('TgWhatIf: 8B in f16 on an A100 takes about 8 ms a token at the least, and INT4 about a quarter', async () => {
    const element = await whatIf();
    const floor = () => Number.parseFloat(text(element, '.half:last-child .hero b'));
    expect(floor()).to.be.within(7.5, 10);
    const f16 = floor();
    await choose(element, 'precision', 'int4');
    expect(f16 / floor()).to.be.within(3.5, 4.1);
  });

  it('TgWhatIf: says when a model does not fit, and fits on more cards', async () => {
    const element = await whatIf();
    await choose(element, 'model', 'llama3_70b');
    expect(text(element, '.unfit')).to.include('does not fit');
    await choose(element, 'cards', '8');
    expect(element.renderRoot.querySelector('.unfit')).to.equal(null);
  });

  it('TgWhatIf: the model of this page can be put elsewhere once there is one', async () => {
    const element = await whatIf();
    expect(element.renderRoot.querySelector('option[value=this]')).to.equal(null);
    element.model = MODEL;
    await element.updateComplete;
    await choose(element, 'model', 'this');
    expect(text(element, '.half:last-child .hero')).not.to.match(/NaN|undefined/);
  });

  it('TgWhatIf: axe finds nothing serious', async () => {
    const element = await whatIf({ measured: { ttftMs: 200, itlMs: 20 }, model: MODEL });
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
