import { expect } from 'chai';
import { ABSENT } from '../internal/format.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { placeOf, sliderStops } from './log-slider.ts';
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
  it('sliderStops: reaches both ends, no stop twice, and placeOf finds each again', () => {
    for (const [min, max, whole] of [
      [8, 32_000, true],
      [1, 64, true],
      [0.5, 500, false],
    ] as const) {
      const stops = sliderStops(min, max, whole);
      expect([stops[0], stops.at(-1)]).to.deep.equal([min, max]);
      expect(stops).to.deep.equal([...new Set(stops)].sort((a, b) => a - b));
      expect(stops.map((stop) => placeOf(stop, stops))).to.deep.equal(stops.map((_, place) => place));
      expect([1e-9, 1e9].map((value) => placeOf(value, stops))).to.deep.equal([0, stops.length - 1]);
    }
  });

  it('sliderStops: few users come one by one', () => {
    expect(sliderStops(1, 64, true).slice(0, 4)).to.deep.equal([1, 2, 3, 4]);
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
    await slide(element, 'promptTokens', placeOf(1000, sliderStops(8, 32_000, true)));
    const { promptTokens } = element.values;
    expect(promptTokens).to.be.closeTo(1000, 40);
    expect(text(element, '.formula')).to.include(`= ${(100 + promptTokens).toLocaleString().replace(/,(?=\d)/g, '.')}`);
    inside(element, 'button').click();
    await element.updateComplete;
    expect(element.values.promptTokens).to.equal(100);
    expect(element.renderRoot).to.have.nested.property('activeElement.name', 'promptTokens');
  });

  it('TgWhatIf: a new measurement moves only the sliders that the user has not', async () => {
    const element = await whatIf({ measured: { ttftMs: 200, itlMs: 20 } });
    await slide(element, 'outputTokens', placeOf(500, sliderStops(1, 4000, true)));
    element.measured = { ttftMs: 200, itlMs: 40 };
    await element.updateComplete;
    expect(element.values.itlMs).to.equal(40);
    expect(element.values.outputTokens).to.be.closeTo(500, 20);
  });

  it('TgWhatIf: what the cache had of the prompt took no time to read', async () => {
    const measured = { ttftMs: 60, itlMs: 20, prefillTokensPerSecond: 500, promptTokens: 700, cachedTokens: 690 };
    const element = await whatIf({ measured });
    // 60 ms of TTFT, of which 20 are reading the ten tokens that were computed.
    expect(text(element, '.formula')).to.include('= 60.0 ms + 127 × 20.0 ms');
    expect(text(element, '.result .note')).to.include('690 tokens of it are taken to be in the cache');
    await slide(element, 'promptTokens', placeOf(2000, sliderStops(8, 32_000, true)));
    expect(text(element, '.formula').replace('.', '')).to.include(
      `= ${String(40 + (element.values.promptTokens - 690) * 2)} ms`,
    );
  });

  it('TgWhatIf: says what it rests on, and claims no more', async () => {
    const element = await whatIf({ measured: {} });
    const basis = () => text(element, '.result .note');
    expect(basis()).to.include('Nothing was measured yet');
    element.measured = { ttftMs: 60, itlMs: 20, promptTokens: 30 };
    await element.updateComplete;
    expect(basis()).to.include('how fast a prompt is read was not measured').and.not.to.include('measured here');
    element.measured = { ttftMs: 60, prefillTokensPerSecond: 500, promptTokens: 30 };
    await element.updateComplete;
    expect(basis()).to.include('The time of a token is an assumption').and.to.include('that was measured here');
  });

  it('TgWhatIf: a price that is none gives no cost, and stays in its field', async () => {
    const element = await whatIf();
    const field = inside<HTMLInputElement>(element, 'input[name=pricePerHour]');
    const cost = () => text(element, '.half:last-child dl div:last-child dd');
    const atTwo = Number.parseFloat(cost());
    const type = async (value: string) => {
      field.value = value;
      field.dispatchEvent(new Event('input', { bubbles: true }));
      await element.updateComplete;
    };
    for (const none of ['', '-1', '1e300']) {
      await type(none);
      expect([cost(), field.value, field.getAttribute('aria-invalid')]).to.deep.equal([ABSENT, none, 'true']);
    }
    await type('4');
    expect(Number.parseFloat(cost()) / atTwo).to.be.closeTo(2, 0.01);
    await type('0');
    expect(cost()).to.equal('0');
    expect(field.getAttribute('aria-invalid')).to.equal('false');
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
