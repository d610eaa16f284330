import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inside, mount, nextEvent, nextFrame, press, unmountAll } from '../testing/fixture.ts';
import { Gate } from '../testing/gate.ts';
import { ScriptedEngine, scriptedInfo, type ScriptedAnswer } from '../testing/scripted-engine.ts';
import type { TgComposer } from '../composer/composer.ts';
import type { TgMarkdown } from '../markdown/markdown.ts';
import type { TgTokenView } from '../token-view/token-view.ts';
import { TgChat } from './chat.ts';

async function chatWith(answer: (call: number) => ScriptedAnswer, set: Partial<TgChat> = {}) {
  const engine = new ScriptedEngine((_, call) => answer(call));
  const chat = new TgChat();
  Object.assign(chat, { engine, ...set });
  await mount(chat);
  return { chat, engine };
}

const answers = (chat: TgChat) => [...chat.renderRoot.querySelectorAll<TgMarkdown>('tg-markdown')];
const answerText = (chat: TgChat) => answers(chat).at(-1)?.plainText.trim();
const composer = (chat: TgChat) => inside<TgComposer>(chat, 'tg-composer');

async function settled(chat: TgChat): Promise<void> {
  await chat.updateComplete;
  for (const answer of answers(chat)) await answer.updateComplete;
}

function write(chat: TgChat, text: string): HTMLTextAreaElement {
  const area = inside<HTMLTextAreaElement>(composer(chat), 'textarea');
  area.value = text;
  area.dispatchEvent(new Event('input'));
  return area;
}

describe('TgChat', () => {
  afterEach(unmountAll);

  it('TgChat: Enter asks, and the answer is shown', async () => {
    const { chat, engine } = await chatWith(() => ({ tokens: ['Time ', 'to ', 'first ', 'token.'] }));
    const ended = nextEvent(chat, 'tg-request-end');
    press(write(chat, '  What is TTFT? '), 'Enter');
    await ended;
    await settled(chat);
    expect(engine.requests[0]?.messages).to.deep.equal([{ role: 'user', content: 'What is TTFT?' }]);
    expect(inside(chat, '.question').textContent).to.include('What is TTFT?');
    expect(answerText(chat)).to.equal('Time to first token.');
    expect(composer(chat).value).to.equal('');
  });

  it('TgChat: the same answer token by token on request, from the first token on', async () => {
    const { chat } = await chatWith(() => ({ tokens: ['Time ', 'to ', 'first'] }));
    await chat.ask('x');
    await settled(chat);
    const toggle = inside(chat, '.under [aria-pressed]');
    expect(toggle.getAttribute('aria-pressed')).to.equal('false');
    toggle.click();
    await settled(chat);
    await nextFrame();
    const view = inside<TgTokenView>(chat, 'tg-token-view');
    expect([...view.renderRoot.querySelectorAll('.text > span')].map((span) => span.textContent)).to.deep.equal([
      'Time ',
      'to ',
      'first',
    ]);
    expect(inside(chat, 'tg-markdown').hidden).to.equal(true);
    expect(await seriousViolations(chat)).to.deep.equal([]);
    toggle.click();
    await settled(chat);
    expect(chat.renderRoot.querySelector('tg-token-view')).to.equal(null);
  });

  it('TgChat: of a long conversation only the latest answers are kept by token', async () => {
    const { chat } = await chatWith(() => ({ tokens: ['a'] }), { showTokens: true });
    for (let turn = 0; turn < 12; turn += 1) await chat.ask('x');
    await settled(chat);
    expect(chat.renderRoot.querySelectorAll('tg-token-view')).to.have.length(8);
    expect(answers(chat)).to.have.length(12);
  });

  it('TgChat: probabilities are asked for where tokens are shown, of an engine of this library', async () => {
    const scheduling = { policy: 'balanced', maxBatch: 1, maxQueued: 8 } as const;
    const ours = new ScriptedEngine(() => ({ tokens: ['a'] }), { ...scriptedInfo, scheduling });
    const { chat, engine: other } = await chatWith(() => ({ tokens: ['a'] }), { showTokens: true });
    await chat.ask('x');
    chat.engine = ours;
    await chat.ask('y');
    chat.showTokens = false;
    await chat.ask('z');
    expect(other.requests[0]).not.to.have.property('logprobs');
    expect(ours.requests.map(({ logprobs }) => logprobs)).to.deep.equal([1, undefined]);
  });

  it('TgChat: system prompt, sampling, limit and earlier turns go along', async () => {
    const { chat, engine } = await chatWith(() => ({ tokens: ['yes'] }), {
      systemPrompt: 'Be brief.',
      maxTokens: 7,
      sampling: { temperature: 0.5 },
    });
    await chat.ask('one');
    await chat.ask('two');
    expect(engine.requests[1]).to.deep.include({ maxTokens: 7, sampling: { temperature: 0.5 } });
    expect(engine.requests[1]?.messages).to.deep.equal([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: 'two' },
    ]);
    chat.historyTurns = 0;
    await chat.ask('three');
    expect(engine.requests[2]?.messages).to.have.length(2);
  });

  it('TgChat: tells start, prefill, first text, tokens and end, with the times of delivery', async () => {
    const { chat } = await chatWith(() => ({ tokens: ['', 'a', 'b'] }));
    const told: string[] = [];
    for (const type of ['tg-request-start', 'tg-prefill', 'tg-first-token', 'tg-tokens', 'tg-request-end'] as const)
      document.addEventListener(type, () => told.push(type), { once: true });
    const ended = nextEvent(chat, 'tg-request-end');
    await chat.ask('x');
    const { trace, text, outcome } = await ended;
    expect(told).to.deep.equal(['tg-request-start', 'tg-prefill', 'tg-tokens', 'tg-first-token', 'tg-request-end']);
    expect([text, outcome]).to.deep.equal(['ab', 'completed']);
    expect(trace?.marks.firstDeliveredMs).to.be.at.least(trace?.marks.calledMs ?? Infinity);
    expect(trace?.marks.lastDeliveredMs).to.be.at.least(trace?.marks.firstDeliveredMs ?? Infinity);
  });

  it('TgChat: Escape stops, what has come stays, and the next answer is right', async () => {
    const gate = new Gate();
    const { chat } = await chatWith((call) =>
      call === 1 ? { tokens: ['one ', 'two'], pace: gate.pace } : { tokens: ['next'] },
    );
    const first = nextEvent(chat, 'tg-first-token');
    const run = chat.ask('x');
    gate.release();
    await first;
    await chat.updateComplete;
    expect(composer(chat).busy).to.equal(true);
    press(inside(composer(chat), 'textarea'), 'Escape');
    expect(await run).to.deep.equal({ outcome: 'aborted' });
    await settled(chat);
    expect(answerText(chat)).to.equal('one');
    expect(inside(chat, 'footer').textContent).to.include('Stopped');
    await chat.ask('y');
    await settled(chat);
    expect(answerText(chat)).to.equal('next');
  });

  it('TgChat: the stop button stops', async () => {
    const gate = new Gate();
    const { chat } = await chatWith(() => ({ tokens: ['one'], pace: gate.pace }));
    const run = chat.ask('x');
    await settled(chat);
    const button = inside(composer(chat), 'button');
    await composer(chat).updateComplete;
    expect(button.getAttribute('aria-label')).to.equal('Stop');
    button.click();
    expect(await run).to.deep.equal({ outcome: 'aborted' });
  });

  it('TgChat: a question asked meanwhile ends the answer before it, and gets its own', async () => {
    const gate = new Gate();
    const { chat } = await chatWith((call) =>
      call === 1 ? { tokens: ['old ', 'old'], pace: gate.pace } : { tokens: ['new'] },
    );
    const first = nextEvent(chat, 'tg-first-token');
    const old = chat.ask('x');
    gate.release();
    await first;
    await chat.ask('y');
    gate.release(5);
    expect(await old).to.equal(undefined);
    await settled(chat);
    expect(answers(chat).map((answer) => answer.plainText.trim())).to.deep.equal(['old', 'new']);
  });

  it('TgChat: regenerate makes the last answer again', async () => {
    const { chat, engine } = await chatWith((call) => ({ tokens: [`answer ${call}`] }));
    await chat.ask('x');
    await settled(chat);
    const ended = nextEvent(chat, 'tg-request-end');
    inside(chat, '.again').click();
    await ended;
    await settled(chat);
    expect(answers(chat)).to.have.length(1);
    expect(answerText(chat)).to.equal('answer 2');
    expect(engine.requests[1]?.messages).to.deep.equal(engine.requests[0]?.messages);
  });

  it('TgChat: an error shows its sentence and what to do, and can be tried again', async () => {
    const error = new TokenglassError('device-lost', 'Cannot decode: the device was lost; load the model again');
    const { chat } = await chatWith((call) => (call === 1 ? { tokens: ['half '], error } : { tokens: ['whole'] }));
    const failed = nextEvent(chat, 'tg-error');
    await chat.ask('x');
    expect((await failed).error.code).to.equal('device-lost');
    await settled(chat);
    const alert = inside(chat, '[role=alert]');
    expect(alert.textContent).to.include(error.message).and.to.include('The graphics device was lost');
    expect(answerText(chat)).to.equal('half');
    const ended = nextEvent(chat, 'tg-request-end');
    inside(chat, '[role=alert] .again').click();
    await ended;
    await settled(chat);
    expect(answerText(chat)).to.equal('whole');
    expect(chat.renderRoot.querySelector('[role=alert]')).to.equal(null);
  });

  it('TgChat: a question asked before there is an engine is answered once there is', async () => {
    const chat = await mount(new TgChat());
    await chat.ask('early');
    await chat.updateComplete;
    expect(inside(chat, '.waiting').textContent).to.include('Waiting for the model');
    const ended = nextEvent(chat, 'tg-request-end');
    chat.engine = new ScriptedEngine(() => ({ tokens: ['late'] }));
    await ended;
    await settled(chat);
    expect(answerText(chat)).to.equal('late');
  });

  it('TgChat: suggestions are offered until something is asked, and ask when pressed', async () => {
    const { chat } = await chatWith(() => ({ tokens: ['ok'] }), { suggestions: ['What is TTFT?', 'What is TPOT?'] });
    const ended = nextEvent(chat, 'tg-request-end');
    const buttons = [...chat.renderRoot.querySelectorAll<HTMLButtonElement>('.suggestions button')];
    expect(buttons.map((button) => button.textContent.trim())).to.deep.equal(['What is TTFT?', 'What is TPOT?']);
    buttons[1]!.click();
    await ended;
    await settled(chat);
    expect(inside(chat, '.question').textContent).to.include('What is TPOT?');
    expect(chat.renderRoot.querySelector('.suggestions')).to.equal(null);
    chat.clear();
    await chat.updateComplete;
    expect(chat.renderRoot.querySelector('.suggestions')).not.to.equal(null);
  });

  it('TgChat: conversations that were cleared leave nothing behind', async () => {
    const { chat } = await chatWith(() => ({ tokens: ['ok'] }));
    const nodesAfterTwoQuestions = async (): Promise<number> => {
      chat.clear();
      for (const question of ['a', 'b']) await chat.ask(question);
      await settled(chat);
      const walker = document.createTreeWalker(chat.renderRoot, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_COMMENT);
      let nodes = 0;
      while (walker.nextNode()) nodes += 1;
      return nodes;
    };
    const first = await nodesAfterTwoQuestions();
    for (let again = 0; again < 3; again++) expect(await nodesAfterTwoQuestions()).to.equal(first);
  });

  it('TgChat: a screen reader hears the finished answer once, not each token', async () => {
    const gate = new Gate();
    const { chat } = await chatWith(() => ({ tokens: ['**Fast** ', 'enough.'], pace: gate.pace }));
    const live = inside(chat, '[role=status]');
    const heard: string[] = [];
    const observer = new MutationObserver(() => heard.push(live.textContent));
    observer.observe(live, { childList: true, characterData: true, subtree: true });
    const log = inside(chat, '[role=log]');
    const first = nextEvent(chat, 'tg-first-token');
    const run = chat.ask('x');
    gate.release();
    await first;
    await nextFrame();
    expect(log.getAttribute('aria-live')).to.equal('off');
    expect(log.getAttribute('aria-busy')).to.equal('true');
    expect(heard.filter((text) => text !== '')).to.deep.equal([]);
    gate.release();
    await run;
    await nextFrame();
    observer.disconnect();
    expect(heard.filter((text) => text !== '')).to.deep.equal(['Fast enough.']);
    expect(log.getAttribute('aria-busy')).to.equal('false');
  });

  it('TgChat: the view follows the answer only for a reader who is at the end', async () => {
    const gate = new Gate();
    const long = Array.from({ length: 60 }, () => 'a line of text\n\n');
    const { chat } = await chatWith(() => ({ tokens: long, pace: gate.pace }));
    chat.style.setProperty('--tg-chat-block-size', '300px');
    const scroller = inside(chat, '.scroll');
    const run = chat.ask('x');
    gate.release(30);
    await nextFrame();
    await nextFrame();
    const gap = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    expect(scroller.scrollHeight).to.be.greaterThan(scroller.clientHeight);
    expect(gap()).to.be.lessThan(2);
    scroller.scrollTop = 0;
    await nextFrame();
    gate.release(30);
    await run;
    await nextFrame();
    await nextFrame();
    expect(scroller.scrollTop).to.equal(0);
    inside(chat, '.jump').click();
    await nextFrame();
    expect(gap()).to.be.lessThan(2);
  });

  it('TgChat: a 5,000-token Markdown answer costs at most one rendering a frame', async () => {
    const tokens = Array.from({ length: 5000 }, (_, index) => (index % 40 === 39 ? '\n\n' : `w${index} `));
    const { chat } = await chatWith(() => ({
      tokens,
      pace: async (index) => (index % 250 === 0 ? nextFrame() : undefined),
    }));
    let frames = 0;
    let counting = true;
    const count = () => {
      frames += 1;
      if (counting) requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
    await chat.ask('long');
    await nextFrame();
    counting = false;
    const answer = answers(chat)[0]!;
    expect(answer.cost.renders).to.be.within(10, frames + 1);
    expect(answer.plainText).to.include('w4998');
    expect(answer.cost.parsedCharacters).to.be.lessThan(4 * tokens.join('').length);
  });

  it('TgChat: leaving the page aborts the answer and lets go of the engine', async () => {
    const gate = new Gate();
    const { chat, engine } = await chatWith(() => ({ tokens: ['one'], pace: gate.pace }));
    const outcomes: string[] = [];
    engine.metrics.on('request', ({ outcome }) => outcomes.push(outcome));
    const run = chat.ask('x');
    await chat.updateComplete;
    chat.remove();
    await run;
    expect(outcomes).to.deep.equal(['aborted']);
  });

  it('TgChat: axe finds nothing serious: empty, answered, failed, light and dark', async () => {
    const error = new TokenglassError(
      'context-overflow',
      'Cannot take the prompt: it is too long; ask something shorter',
    );
    const { chat } = await chatWith((call) => (call === 2 ? { tokens: [], error } : { tokens: ['# Hi\n', '`x`'] }), {
      suggestions: ['What is TTFT?'],
    });
    const check = async () => {
      for (const scheme of ['light', 'dark']) {
        chat.setAttribute('theme', scheme);
        expect(await seriousViolations(chat)).to.deep.equal([]);
      }
    };
    await check();
    await chat.ask('x');
    await settled(chat);
    await check();
    await chat.ask('y');
    await settled(chat);
    await check();
  });
});
