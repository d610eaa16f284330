import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, nextFrame, press, unmountAll } from '../testing/fixture.ts';
import { TokenPieces } from './token-pieces.ts';
import { TgTokenView } from './token-view.ts';

/** Ten tokens 10 ms apart, with one of 100 ms before the sixth. */
function answer(): TokenPieces {
  const pieces = new TokenPieces();
  let atMs = 0;
  for (let at = 0; at < 10; at += 1) {
    pieces.append(` t${at}`, [{ id: 40 + at, atMs, logprob: Math.log(0.25) }]);
    atMs += at === 4 ? 100 : 10;
  }
  return pieces;
}

async function view(source: TokenPieces) {
  const element = new TgTokenView();
  element.source = source;
  await mount(element);
  await nextFrame();
  await element.updateComplete;
  return element;
}

const spans = (element: TgTokenView) => [...element.renderRoot.querySelectorAll<HTMLElement>('.text > span')];
const detail = (element: TgTokenView) => inside(element, '.detail').textContent.replace(/\s+/g, ' ').trim();

describe('TgTokenView', () => {
  afterEach(unmountAll);

  it('TgTokenView: a stall is marked at its token, by more than colour', async () => {
    const source = answer();
    source.close();
    const element = await view(source);
    expect(spans(element).map(({ className }) => className)).to.deep.equal([
      'first',
      ...Array<string>(4).fill('usual'),
      'stall',
      ...Array<string>(4).fill('usual'),
    ]);
    const line = (index: number) => parseFloat(getComputedStyle(spans(element)[index]!).textDecorationThickness);
    expect(line(5)).to.be.greaterThan(line(4));
  });

  it('TgTokenView: adds what is new, and leaves what stands', async () => {
    const source = answer();
    const element = await view(source);
    const [first] = spans(element);
    source.append(' more', [{ id: 99, atMs: 200 }]);
    await nextFrame();
    expect(spans(element)).to.have.length(11);
    expect(spans(element)[0]).to.equal(first);
    expect(inside(element, '.text').textContent).to.match(/ t9 more$/);
  });

  it('TgTokenView: pointing and arrow keys tell token, id, time and probability', async () => {
    const element = await view(answer());
    spans(element)[5]!.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
    await element.updateComplete;
    expect(detail(element)).to.match(/Token 6 .*t5 100 ms id 45, p 25 %/);
    press(inside(element, '.text'), 'ArrowRight');
    await element.updateComplete;
    expect(detail(element)).to.match(/Token 7 .*10[.,]0 ms id 46/);
    press(inside(element, '.text'), 'Home');
    await element.updateComplete;
    expect(detail(element)).to.match(/Token 1 .*first id 40/);
    expect(element.renderRoot.querySelectorAll('.told')).to.have.length(1);
  });

  it('TgTokenView: text that is read from the right stands and is walked so', async () => {
    const source = new TokenPieces();
    for (const [at, word] of ['زمن ', 'أول ', 'رمز'].entries()) source.append(word, [{ id: at, atMs: at * 10 }]);
    const element = await view(source);
    const [first, second] = spans(element).map((span) => span.getBoundingClientRect().left);
    expect(first).to.be.greaterThan(second!);
    const group = inside(element, '.text');
    press(group, 'Home');
    press(group, 'ArrowLeft');
    await element.updateComplete;
    expect(detail(element)).to.include('Token 2');
    expect(press(group, 'ArrowLeft', { altKey: true }).defaultPrevented).to.equal(false);
  });

  it('TgTokenView: text of a model is text, whatever is in it', async () => {
    const source = new TokenPieces();
    source.append('<img src=x onerror=alert(1)>', [{ id: 1, atMs: 0 }]);
    const element = await view(source);
    expect(element.renderRoot.querySelector('img')).to.equal(null);
    expect(inside(element, '.text').textContent).to.equal('<img src=x onerror=alert(1)>');
  });

  it('TgTokenView: axe finds nothing serious', async () => {
    const source = answer();
    source.close();
    const element = await view(source);
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
