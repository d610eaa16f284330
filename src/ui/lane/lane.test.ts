import { expect } from 'chai';
import { ABSENT } from '../internal/format.ts';
import { seriousViolations } from '../testing/axe.ts';
import { countUpdates, quietFrames } from '../testing/counting.ts';
import { inBothSchemes, mount, nextFrame, unmountAll } from '../testing/fixture.ts';
import { Gate } from '../testing/gate.ts';
import { ScriptedEngine, type ScriptedAnswer } from '../testing/scripted-engine.ts';
import { compareWords } from './compare-words.ts';
import { TgLane } from './lane.ts';

async function lane(answer: ScriptedAnswer) {
  const element = new TgLane();
  element.label = 'A';
  element.engine = new ScriptedEngine(() => answer);
  return mount(element);
}

const big = (element: TgLane) =>
  [...element.renderRoot.querySelectorAll('.big')].map((figure) => figure.textContent.trim());

describe('compareWords', () => {
  const a = { ttftMs: 100, tpotMs: 10, text: 'x' };

  it('compareWords: names the faster one with both figures, and the same words', () => {
    const [first, speed, same] = compareWords(a, { ttftMs: 250, tpotMs: 5, text: 'x' }, 'GPU', 'CPU');
    expect(first).to.match(/^GPU shows its first word 2[.,]5 times sooner \(100 ms against 250 ms\)\.$/);
    expect(speed).to.match(/^CPU writes 2 times as fast \(5[.,]0 ms against 10[.,]0 ms\)/);
    expect(same).to.include('very same words');
  });

  it('compareWords: what is nearly the same is not called a difference', () => {
    expect(compareWords(a, { ttftMs: 103, tpotMs: 10.2, text: 'y' }).join(' ')).to.match(
      /about the same time.*about the same speed/,
    );
  });

  it('compareWords: says whose prompt was in a cache, where one had more of it', () => {
    const [, words] = compareWords(
      { ...a, promptTokens: 1021, cachedTokens: 0 },
      { ttftMs: 20, tpotMs: 10, promptTokens: 1021, cachedTokens: 1008, text: 'x' },
      'GPU, no cache',
      'GPU',
    );
    expect(words).to.match(/^GPU had 1.?008 of 1.?021 prompt tokens in its cache, the other none\.$/);
    const same = { ...a, promptTokens: 40, cachedTokens: 16 };
    expect(compareWords(same, same).join(' ')).to.not.include('cache');
  });

  it('compareWords: of what was not measured nothing is said', () => {
    expect(compareWords({ text: '' }, { text: '' })).to.deep.equal([]);
    expect(compareWords(a, { ttftMs: 100, text: '' })).to.have.length(1);
  });
});

describe('TgLane', () => {
  afterEach(unmountAll);

  it('TgLane: before a run both figures are dashes', async () => {
    const element = await lane({ tokens: [] });
    for (const figure of big(element)) expect(figure).to.include(ABSENT);
  });

  it('TgLane: a run gives figures and text, and then nothing is drawn', async () => {
    const element = await lane({ tokens: ['one', ' two', ' three'] });
    const figures = await element.run({ prompt: 'x' });
    expect(figures.text).to.equal('one two three');
    expect(figures.ttftMs).to.be.greaterThan(0);
    expect(figures.tpotMs).to.be.at.least(0);
    await quietFrames();
    const updates = countUpdates(element);
    await quietFrames();
    expect(updates()).to.equal(0);
  });

  it('TgLane: a clock runs while the first token is waited for', async () => {
    const gate = new Gate();
    const element = await lane({ tokens: ['a', 'b'], pace: gate.pace });
    const run = element.run({ prompt: 'x' });
    await nextFrame();
    const early = big(element)[0];
    await quietFrames();
    expect(big(element)[0]).not.to.equal(early);
    gate.release(2);
    await run;
  });

  it('TgLane: another run begins from nothing', async () => {
    const gate = new Gate();
    const element = await lane({ tokens: ['a', 'b'], pace: gate.pace });
    gate.release(2);
    await element.run({ prompt: 'x' });
    const again = element.run({ prompt: 'x' });
    expect(element.figures).to.deep.equal({ text: '' });
    element.stop();
    expect((await again).text).to.equal('');
  });

  it('TgLane: axe finds nothing serious', async () => {
    const element = await lane({ tokens: ['a', 'b', 'c'] });
    await element.run({ prompt: 'x' });
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
