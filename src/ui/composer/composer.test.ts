import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { inside, mount, press, unmountAll } from '../testing/fixture.ts';
import { TgComposer } from './composer.ts';

async function composerWith(value: string, busy = false) {
  const composer = new TgComposer();
  Object.assign(composer, { value, busy });
  const sent: string[] = [];
  composer.addEventListener('tg-submit', ({ text }) => sent.push(text));
  await mount(composer);
  return { composer, sent, area: inside<HTMLTextAreaElement>(composer, 'textarea') };
}

describe('TgComposer', () => {
  afterEach(unmountAll);

  it('TgComposer: Enter sends the trimmed text and empties the field', async () => {
    const { composer, sent, area } = await composerWith(' hi\nthere ');
    expect(press(area, 'Enter').defaultPrevented).to.equal(true);
    expect(sent).to.deep.equal(['hi\nthere']);
    await composer.updateComplete;
    expect(area.value).to.equal('');
  });

  it('TgComposer: Shift+Enter makes a line and sends nothing', async () => {
    const { sent, area } = await composerWith('hi');
    expect(press(area, 'Enter', { shiftKey: true }).defaultPrevented).to.equal(false);
    expect(sent).to.deep.equal([]);
  });

  it('TgComposer: Enter that ends a composition of an input method sends nothing', async () => {
    const { sent, area } = await composerWith('한');
    press(area, 'Enter', { isComposing: true });
    // What Safari sends: no longer composing, but the key still belongs to the input method.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    press(area, 'Enter', { keyCode: 229 });
    expect(sent).to.deep.equal([]);
  });

  it('TgComposer: white space is not sent, and the button says so', async () => {
    const { composer, sent, area } = await composerWith('  ');
    press(area, 'Enter');
    expect(sent).to.deep.equal([]);
    expect(inside<HTMLButtonElement>(composer, 'button').disabled).to.equal(true);
  });

  it('TgComposer: busy, the button stops and Enter keeps the text', async () => {
    const { composer, sent, area } = await composerWith('next', true);
    let stops = 0;
    composer.addEventListener('tg-stop', () => (stops += 1));
    press(area, 'Enter');
    inside(composer, 'button').click();
    expect(stops).to.equal(1);
    expect(sent).to.deep.equal([]);
    expect(composer.value).to.equal('next');
  });

  it('TgComposer: focus goes to the field', async () => {
    const { composer, area } = await composerWith('');
    composer.focus();
    expect(composer.shadowRoot?.activeElement).to.equal(area);
  });

  it('TgComposer: axe finds nothing serious', async () => {
    for (const busy of [false, true]) {
      const { composer } = await composerWith('text', busy);
      expect(await seriousViolations(composer)).to.deep.equal([]);
    }
  });
});
