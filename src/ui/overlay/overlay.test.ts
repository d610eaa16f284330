import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import { createEngine } from '../../worker/create-engine.ts';
import { hidePage } from '../../shared/testing/hide-page.ts';
import { TgChat } from '../chat/chat.ts';
import { ABSENT } from '../internal/format.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, nextEvent, nextFrame, press, unmountAll } from '../testing/fixture.ts';
import { paceOf } from '../internal/view-pace.ts';
import { countUpdates, quietFrames, until } from '../testing/counting.ts';
import { Gate } from '../testing/gate.ts';
import { ScriptedEngine, scriptedInfo, type ScriptedAnswer } from '../testing/scripted-engine.ts';
import type { TgTimeline } from '../timeline/timeline.ts';
import { LivePhase } from './live-figures.ts';
import { TgOverlay } from './overlay.ts';

async function overlayWith(answer: ScriptedAnswer, set: Partial<TgOverlay> = {}, withChat = true, info = scriptedInfo) {
  const engine = new ScriptedEngine(() => answer, info);
  const overlay = new TgOverlay();
  const chat = new TgChat();
  chat.engine = engine;
  Object.assign(overlay, { engine, ...(withChat && { source: chat }), ...set });
  await mount(chat);
  await mount(overlay);
  return { engine, overlay, chat };
}

const text = (overlay: TgOverlay) => overlay.renderRoot.textContent.replace(/\s+/g, ' ');

/** Resolves once the overlay shows how the request ended, which may take as long as its pace. */
async function drawn(overlay: TgOverlay, phase: LivePhase = LivePhase.done): Promise<void> {
  await until(() => inside(overlay, '.lamp').classList.contains(phase));
}

describe('TgOverlay', () => {
  afterEach(unmountAll);

  it('TgOverlay: before anything is measured every figure is a dash that says so', async () => {
    const { overlay } = await overlayWith({ tokens: [] }, { open: true });
    const figures = [...overlay.renderRoot.querySelectorAll('.big, .row dd')];
    expect(figures).to.have.length(6);
    for (const figure of figures) expect(figure.textContent).to.include(ABSENT);
    expect(inside(overlay, '.big').textContent).to.include('not measured');
    expect(text(overlay)).not.to.match(/NaN|Infinity|undefined/);
  });

  it('TgOverlay: after an answer it shows TTFT, median, p95, n and tokens', async () => {
    const { overlay, chat } = await overlayWith({ tokens: ['a', 'b', 'c', 'd'] }, { open: true });
    await chat.ask('x');
    await drawn(overlay);
    expect(text(overlay)).to.include('n = 3 gaps').and.to.include('Last answer');
    const [first, perToken] = overlay.renderRoot.querySelectorAll('.big');
    for (const figure of [first, perToken]) expect(figure?.textContent).to.match(/\d/);
    expect(inside(overlay, '.row div:last-child dd').textContent).to.equal('4');
  });

  it('TgOverlay: what a server does not tell of its model is not shown as 0', async () => {
    const unknown = ['quantization', 'parameters', 'weightBytes', 'kvBytesPerToken'];
    const { threads: _, ...rest } = scriptedInfo;
    const model = { ...scriptedInfo.model, parameters: 0, weightBytes: 0, kvBytesPerToken: 0, unknown };
    const info = { ...rest, engine: 'endpoint', model };
    const { overlay } = await overlayWith({ tokens: [] }, { open: true }, true, info);
    const facts = inside(overlay, '.engine dl').textContent.replace(/\s+/g, ' ');
    expect(facts).to.include('a server').and.to.include('not known');
    expect(facts).not.to.match(/\b0 (?:B|parameters)|unknown/);
  });

  it('TgOverlay: one token gives no ms/token', async () => {
    const { overlay, chat } = await overlayWith({ tokens: ['a'] }, { open: true });
    await chat.ask('x');
    await drawn(overlay);
    expect(overlay.renderRoot.querySelectorAll('.big')[1]?.textContent).to.include(ABSENT);
    expect(text(overlay)).to.include('No gaps between tokens yet');
  });

  it('TgOverlay: without a chat it follows the steps and requests of the engine', async () => {
    const { overlay, engine } = await overlayWith({ tokens: ['a', 'b', 'c'] }, { open: true }, false);
    for await (const event of engine.generate({ prompt: 'x' })) expect(event).to.have.property('type');
    await drawn(overlay);
    expect(text(overlay)).to.include('n = 2 gaps');
    // Nobody said when text reached the page, so there is no TTFT.
    expect(inside(overlay, '.big').textContent).to.include(ABSENT);
  });

  it('TgOverlay: an answer that is stopped keeps the figures of what came', async () => {
    const gate = new Gate();
    const { overlay, chat } = await overlayWith({ tokens: ['a', 'b', 'c', 'd'], pace: gate.pace }, { open: true });
    const first = nextEvent(chat, 'tg-first-token');
    const run = chat.ask('x');
    gate.release(3);
    await first;
    await nextFrame();
    chat.stop();
    await run;
    await drawn(overlay, LivePhase.stopped);
    expect(text(overlay)).to.include('n = 2 gaps').and.to.include('Stopped');
    expect(inside(overlay, '.big').textContent).to.match(/\d/);
  });

  it('TgOverlay: an answer that failed is not called the last answer', async () => {
    const error = new TokenglassError('internal', 'Cannot go on: a test');
    const { overlay, chat } = await overlayWith({ tokens: [], error }, { open: true });
    await chat.ask('x');
    await drawn(overlay, LivePhase.failed);
    expect(inside(overlay, '.phase').textContent).to.equal('Failed');
  });

  it('TgOverlay: what came while the page was hidden is counted and not measured', async () => {
    const { overlay, chat } = await overlayWith({ tokens: ['a', 'b', 'c', 'd'] }, { open: true });
    const show = hidePage();
    try {
      await chat.ask('x');
      await drawn(overlay);
      expect(text(overlay)).to.include('No gaps between tokens yet');
      expect(inside(overlay, '.row div:last-child dd').textContent).to.equal('4');
    } finally {
      show();
    }
    await chat.ask('y');
    await until(() => text(overlay).includes('n = 3 gaps'));
  });

  it('TgOverlay: a new request takes the old figures away', async () => {
    const gate = new Gate();
    const { overlay, chat } = await overlayWith({ tokens: ['a', 'b'], pace: gate.pace }, { open: true });
    gate.release(2);
    await chat.ask('x');
    const started = nextEvent(chat, 'tg-prefill');
    void chat.ask('y');
    await started;
    await drawn(overlay, LivePhase.prefill);
    expect(text(overlay)).to.include('Reading the prompt');
    expect(inside(overlay, '.big').textContent).to.include(ABSENT);
  });

  it('TgOverlay: another engine is not given the figures of the one before', async () => {
    const { overlay, chat } = await overlayWith({ tokens: ['a', 'b', 'c'] }, { open: true });
    await chat.ask('x');
    await drawn(overlay);
    overlay.engine = undefined;
    await overlay.updateComplete;
    overlay.engine = new ScriptedEngine(() => ({ tokens: [] }));
    await overlay.updateComplete;
    expect(inside(overlay, '.big').textContent).to.include(ABSENT);
    expect(text(overlay)).to.include('Ask something to measure it').and.not.to.include('Why this fast');
    expect(inside<TgTimeline>(overlay, 'tg-timeline').gapsMs).to.deep.equal([]);
  });

  it('TgOverlay: opens and closes by its button, which says so', async () => {
    const { overlay } = await overlayWith({ tokens: [] });
    const button = inside(overlay, 'button');
    expect(button.getAttribute('aria-expanded')).to.equal('false');
    button.click();
    await overlay.updateComplete;
    expect(overlay.hasAttribute('open')).to.equal(true);
    expect(button.getAttribute('aria-expanded')).to.equal('true');
    expect(inside(overlay, '#card').offsetHeight).to.be.greaterThan(0);
  });

  it('TgOverlay: arrow keys and dragging move it from corner to corner, and a drag is no click', async () => {
    const { overlay } = await overlayWith({ tokens: [] });
    const button = inside(overlay, 'button');
    press(button, 'ArrowUp');
    expect(overlay.placement).to.equal('top-right');
    press(button, 'ArrowLeft');
    await overlay.updateComplete;
    expect(overlay.placement).to.equal('top-left');
    const { left, top } = overlay.getBoundingClientRect();
    expect([left, top].every((px) => px < 50)).to.equal(true);
    const at = (type: string, clientX: number, clientY: number) =>
      button.dispatchEvent(new PointerEvent(type, { clientX, clientY, bubbles: true, composed: true }));
    at('pointerdown', 20, 20);
    at('pointermove', innerWidth - 20, innerHeight - 20);
    at('pointerup', innerWidth - 20, innerHeight - 20);
    button.dispatchEvent(new MouseEvent('click', { detail: 1, bubbles: true, composed: true }));
    expect(overlay.placement).to.equal('bottom-right');
    expect(overlay.style.translate).to.equal('');
    expect(overlay.open).to.equal(false);
    at('pointerdown', 20, 20);
    at('pointerup', 20, 20);
    button.click();
    expect(overlay.open).to.equal(true);
  });

  it('TgOverlay: after a drag that ended without a click, beyond the window, the next key opens it', async () => {
    const { overlay } = await overlayWith({ tokens: [] });
    const button = inside(overlay, 'button');
    for (const [type, clientX] of [
      ['pointerdown', 20],
      ['pointermove', -500],
      ['pointerup', -500],
    ] as const)
      button.dispatchEvent(new PointerEvent(type, { clientX, clientY: 20, bubbles: true, composed: true }));
    button.click(); // as Enter does
    expect(overlay.open).to.equal(true);
  });

  it('TgOverlay: left is left in a page that is read from the right, and keys of the browser are left to it', async () => {
    const { overlay } = await overlayWith({ tokens: [] });
    const button = inside(overlay, 'button');
    document.documentElement.dir = 'rtl';
    try {
      expect(press(button, 'ArrowLeft', { altKey: true }).defaultPrevented).to.equal(false);
      expect(overlay.placement).to.equal('bottom-right');
      expect(innerWidth - overlay.getBoundingClientRect().right).to.be.within(0, 50);
      press(button, 'ArrowLeft');
      await overlay.updateComplete;
      expect(overlay.getBoundingClientRect().left).to.be.within(0, 50);
    } finally {
      document.documentElement.removeAttribute('dir');
    }
  });

  it('TgOverlay: any number of tokens in a frame is one drawing, and none while nothing changes', async () => {
    const { overlay, chat } = await overlayWith({ tokens: Array.from({ length: 500 }, () => 'x ') });
    await nextFrame();
    const updates = countUpdates(overlay);
    await chat.ask('x');
    await drawn(overlay);
    const after = updates();
    expect(after).to.be.at.most(4);
    await quietFrames();
    expect(updates()).to.equal(after);
  });

  it('TgOverlay: draws a stream at its own pace, whenever tokens come', async () => {
    const gate = new Gate();
    const tokens = Array.from({ length: 60 }, () => 'x ');
    const { overlay, chat } = await overlayWith({ tokens, pace: gate.pace }, { open: true });
    const drawnMs: number[] = [];
    overlay.addController({ hostUpdated: () => drawnMs.push(performance.now()) });
    const run = chat.ask('x');
    for (let frame = 0; frame < 50; frame++) {
      gate.release(1);
      await nextFrame();
    }
    const gapsMs = drawnMs.slice(1).map((ms, i) => ms - drawnMs[i]!);
    expect(gapsMs).not.to.be.empty;
    expect(Math.min(...gapsMs)).to.be.at.least(paceOf(scriptedInfo).liveMs - 10);
    gate.release(10);
    await run;
    await drawn(overlay);
  });

  it('TgOverlay: a screen reader hears the figures once an answer', async () => {
    const { overlay, chat } = await overlayWith({ tokens: ['a', 'b', 'c'] });
    const live = inside(overlay, '[role=status]');
    const heard: string[] = [];
    const observer = new MutationObserver(() => heard.push(live.textContent));
    observer.observe(live, { childList: true, characterData: true, subtree: true });
    await chat.ask('x');
    await drawn(overlay);
    observer.disconnect();
    const said = heard.filter((words) => words !== '');
    expect(said).to.have.length(1);
    expect(said[0]).to.match(/^First token after .+ milliseconds, .+ milliseconds a token\.$/);
  });

  it('TgOverlay: out of the page it lets go of the engine, and back it follows again', async () => {
    const { overlay, engine, chat } = await overlayWith({ tokens: ['a', 'b'] });
    expect(engine.listenerCount).to.equal(2);
    overlay.remove();
    expect(engine.listenerCount).to.equal(0);
    document.body.append(overlay);
    expect(engine.listenerCount).to.equal(2);
    await chat.ask('x');
    await drawn(overlay);
    expect(text(overlay)).to.match(/TTFT.*\d/);
  });

  it('TgOverlay: axe finds nothing serious, closed and open, before and after an answer', async () => {
    const { overlay, chat } = await overlayWith({ tokens: ['a', 'b'] });
    const check = () => inBothSchemes(async () => expect(await seriousViolations(overlay)).to.deep.equal([]));
    await check();
    overlay.open = true;
    await overlay.updateComplete;
    await check();
    await chat.ask('x');
    await drawn(overlay);
    await check();
  });

  for (const name of ['webgpu', 'onnx-wasm'] as const)
    it(`TgOverlay: an answer of the real engine ${name} stays as it ended, whatever steps come after it`, async () => {
      const engine = await createEngine({ model: 'tutor', engine: name, worker: false, prefixCache: false });
      const chat = new TgChat();
      const overlay = new TgOverlay();
      chat.engine = engine;
      Object.assign(overlay, { engine, source: chat, open: true });
      await mount(chat);
      await mount(overlay);
      const ended = nextEvent(chat, 'tg-request-end');
      await chat.ask('What is TTFT?');
      const { trace } = await ended;
      await drawn(overlay);
      // Another answer's worth of frames, in which what was enqueued ahead comes in.
      for (let frame = 0; frame < 30; frame++) await nextFrame();
      const tokens = trace!.usage.completionTokens;
      expect(inside(overlay, '.lamp').classList.contains(LivePhase.done)).to.equal(true);
      expect(text(overlay)).to.include(`n = ${tokens - 1} gaps`);
      expect(inside(overlay, '.row div:last-child dd').textContent).to.equal(String(tokens));
      expect(inside(overlay, '.big').textContent).to.match(/\d/);
      await engine[Symbol.asyncDispose]();
    });
});
