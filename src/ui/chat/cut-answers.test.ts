import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import type { ChatMessage } from '../../shared/generation.ts';
import type { ResumableAnswer } from '../../shared/resumable.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, nextEvent, press, unmountAll } from '../testing/fixture.ts';
import { Gate } from '../testing/gate.ts';
import { ScriptedEngine, type ScriptedAnswer } from '../testing/scripted-engine.ts';
import type { TgMarkdown } from '../markdown/markdown.ts';
import { TgChat } from './chat.ts';
import { findCutAnswers } from './cut-answers.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
const system = (content: string): ChatMessage => ({ role: 'system', content });

const cutAnswer = (id: string, messages: readonly ChatMessage[], text = 'Time to first'): ResumableAnswer => ({
  id,
  messages,
  text,
  outputTokens: 3,
  atMs: Date.now() - 130_000,
});

const engineWith = (cut: ResumableAnswer[], answer: ScriptedAnswer = { tokens: [' token', '.'] }) =>
  new ScriptedEngine(() => answer, undefined, cut);

async function chatWith(engine: ScriptedEngine | undefined, set: Partial<TgChat> = {}): Promise<TgChat> {
  const chat = Object.assign(new TgChat(), { engine, ...set });
  await mount(chat);
  await settled(chat);
  return chat;
}

const answers = (chat: TgChat) => [...chat.renderRoot.querySelectorAll<TgMarkdown>('tg-markdown')];
const texts = (chat: TgChat) => answers(chat).map((answer) => answer.plainText.trim());
const questions = (chat: TgChat) =>
  [...chat.renderRoot.querySelectorAll('.question')].map((one) => one.lastChild?.textContent);
const offer = (chat: TgChat) => chat.renderRoot.querySelector('.cut');

/** The engine is asked once an update has begun, and what it says is shown by another one. */
async function settled(chat: TgChat): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve));
  await chat.updateComplete;
  for (const answer of answers(chat)) await answer.updateComplete;
}

describe('findCutAnswers', () => {
  it('findCutAnswers: chats with this system prompt only, with their earlier turns', async () => {
    const engine = engineWith([
      cutAnswer('chat', [system('Be brief.'), user('one'), assistant('1'), user('two')]),
      cutAnswer('other prompt', [system('Be long.'), user('one')]),
      cutAnswer('no prompt', [user('one')]),
      cutAnswer('ends in an answer', [system('Be brief.'), user('one'), assistant('1')]),
      cutAnswer('tools', [system('Be brief.'), user('one'), { role: 'tool', content: '1' }, user('two')]),
      { id: 'raw', prompt: 'one', text: 'x', outputTokens: 1, atMs: 0 },
    ]);
    const found = await findCutAnswers(engine, 'Be brief.');
    expect(found.map(({ id, turns }) => ({ id, turns }))).to.deep.equal([
      {
        id: 'chat',
        turns: [
          { question: 'one', answer: '1' },
          { question: 'two', answer: 'Time to first' },
        ],
      },
    ]);
    expect((await findCutAnswers(engine, '')).map(({ id }) => id)).to.deep.equal(['no prompt']);
  });

  it('findCutAnswers: none of an engine that takes none down, or that fails', async () => {
    expect(await findCutAnswers(new ScriptedEngine(() => ({ tokens: [] })), '')).to.deep.equal([]);
    const failing = Object.assign(engineWith([]), { resumable: () => Promise.reject(new Error('gone')) });
    expect(await findCutAnswers(failing, '')).to.deep.equal([]);
  });
});

describe('TgChat, answers that were cut short', () => {
  afterEach(unmountAll);

  it('TgChat: after a reload, the conversation is shown again, and the cut answer goes on where it was', async () => {
    const engine = engineWith([cutAnswer('a', [user('hi'), assistant('Hello!'), user('What is TTFT?')])]);
    const chat = await chatWith(engine);
    expect(questions(chat)).to.deep.equal(['hi', 'What is TTFT?']);
    expect(texts(chat)).to.deep.equal(['Hello!', 'Time to first']);
    expect(offer(chat)!.textContent).to.include('cut short 2 minutes ago');
    const first = nextEvent(chat, 'tg-first-token');
    const tokens = nextEvent(chat, 'tg-tokens');
    const ended = nextEvent(chat, 'tg-request-end');
    inside(chat, '.go-on').click();
    expect((await tokens).text, 'what there was comes first').to.equal('Time to first');
    await first;
    expect((await ended).text).to.equal('Time to first token.');
    await settled(chat);
    expect(texts(chat)).to.deep.equal(['Hello!', 'Time to first token.']);
    expect(offer(chat)).to.equal(null);
    expect(engine.requests).to.have.length(1);

    await chat.ask('And then?');
    expect(engine.requests[1]!.messages!.map(({ content }) => content)).to.deep.equal([
      'hi',
      'Hello!',
      'What is TTFT?',
      'Time to first token.',
      'And then?',
    ]);
  });

  it('TgChat: the first text of an answer that goes on is its first new text', async () => {
    const gate = new Gate();
    const chat = await chatWith(engineWith([cutAnswer('a', [user('x')])], { tokens: ['!'], pace: gate.pace }));
    let firsts = 0;
    chat.addEventListener('tg-first-token', () => (firsts += 1));
    const old = nextEvent(chat, 'tg-tokens');
    const run = chat.goOn();
    const { deliveredMs } = await old;
    expect(firsts).to.equal(0);
    gate.release();
    const { marks } = (await run)!.trace!;
    expect(firsts).to.equal(1);
    expect(marks.firstDeliveredMs).to.be.at.least(deliveredMs);
    expect(marks.firstDeliveredMs).to.equal(marks.lastDeliveredMs);
  });

  it('TgChat: dismissed, it is forgotten, and the chat is as new', async () => {
    const cut = [cutAnswer('a', [user('x')]), cutAnswer('b', [user('older')])];
    const engine = engineWith(cut);
    const chat = await chatWith(engine, { suggestions: ['What is TTFT?'] });
    inside(chat, '.dismiss').click();
    await settled(chat);
    expect(cut.map(({ id }) => id)).to.deep.equal(['b']);
    expect(questions(chat)).to.deep.equal([]);
    expect(chat.renderRoot.querySelector('.suggestions')).not.to.equal(null);
    expect(engine.requests).to.have.length(0);
  });

  it('TgChat: who asks something else, or begins a new chat, does not go on; the conversation does', async () => {
    for (const way of ['ask', 'clear'] as const) {
      const cut = [cutAnswer('a', [user('x')])];
      const engine = engineWith(cut);
      const chat = await chatWith(engine);
      if (way === 'ask') await chat.ask('else');
      else chat.clear();
      await settled(chat);
      expect(cut, way).to.deep.equal([]);
      expect(offer(chat)).to.equal(null);
      if (way === 'ask') {
        expect(engine.requests[0]!.messages!.map(({ content }) => content)).to.deep.equal([
          'x',
          'Time to first',
          'else',
        ]);
        expect(inside(chat, 'footer').textContent).to.include('Cut short');
      }
    }
  });

  it('TgChat: an answer that a lost device ended can go on with the next engine, in its place', async () => {
    const error = new TokenglassError('device-lost', 'Cannot decode: the device was lost; load the model again');
    const chat = await chatWith(engineWith([], { tokens: ['Time to first'], error }), { systemPrompt: 'Be brief.' });
    await chat.ask('What is TTFT?');
    chat.engine = undefined;
    await settled(chat);
    expect(inside(chat, '[role=alert]').textContent).to.include('lost');
    const other = cutAnswer('other', [system('Be brief.'), user('another question')]);
    chat.engine = engineWith([other, cutAnswer('mine', [system('Be brief.'), user('What is TTFT?')])]);
    await settled(chat);
    expect(chat.renderRoot.querySelector('[role=alert]')).to.equal(null);
    await chat.goOn();
    await settled(chat);
    expect(questions(chat)).to.deep.equal(['What is TTFT?']);
    expect(texts(chat)).to.deep.equal(['Time to first token.']);
  });

  it('TgChat: a conversation that is on is left alone', async () => {
    const chat = await chatWith(engineWith([]));
    await chat.ask('x');
    chat.engine = engineWith([cutAnswer('a', [user('y')])]);
    await settled(chat);
    expect(questions(chat)).to.deep.equal(['x']);
    expect(offer(chat)).to.equal(null);
  });

  it('TgChat: a question that waits for the engine is answered, and nothing is restored over it', async () => {
    const chat = await chatWith(undefined);
    await chat.ask('early');
    const ended = nextEvent(chat, 'tg-request-end');
    chat.engine = engineWith([cutAnswer('a', [user('y')])], { tokens: ['yes'] });
    await ended;
    await settled(chat);
    expect(questions(chat)).to.deep.equal(['early']);
  });

  it('TgChat: what another tab has taken stays as it was, and says so', async () => {
    const cut = [cutAnswer('a', [user('x')])];
    const chat = await chatWith(engineWith(cut));
    cut.splice(0);
    let failed = false;
    chat.addEventListener('tg-error', () => (failed = true));
    const ended = nextEvent(chat, 'tg-request-end');
    await chat.goOn();
    // Whoever follows the chat need not wait for it any more.
    expect(await ended).to.include({ outcome: 'aborted', text: 'Time to first' });
    await settled(chat);
    expect(failed).to.equal(false);
    expect(texts(chat)).to.deep.equal(['Time to first']);
    expect(inside(chat, 'footer').textContent).to.include('Another tab');
    expect(offer(chat)).to.equal(null);
  });

  it('TgChat: stopped or failed before its first new text, an answer keeps what there was', async () => {
    const error = new TokenglassError('device-lost', 'Cannot decode: the device was lost; load the model again');
    for (const way of ['stop', 'fail'] as const) {
      const gate = new Gate();
      const scripted = way === 'fail' ? { tokens: [], error } : { tokens: ['!'], pace: gate.pace };
      const chat = await chatWith(engineWith([cutAnswer('a', [user('x')])], scripted));
      const run = chat.goOn();
      if (way === 'stop') chat.stop();
      await run;
      await settled(chat);
      expect(texts(chat), way).to.deep.equal(['Time to first']);
    }
  });

  it('TgChat: the offer is read out, reached by the keyboard, and answered there; the focus is not lost', async () => {
    const gate = new Gate();
    const chat = await chatWith(engineWith([cutAnswer('a', [user('x')])], { tokens: ['!'], pace: gate.pace }));
    expect(inside(chat, '[role=status]').textContent).to.include('cut short').and.to.include('go on');
    const group = inside(chat, '.cut[role=group]');
    expect(group.getAttribute('aria-label')).to.include('cut short');
    const button = inside<HTMLButtonElement>(chat, '.go-on');
    button.focus();
    expect(chat.shadowRoot!.activeElement).to.equal(button);
    button.click(); // what Enter and the space bar do to a focused button
    await settled(chat);
    expect(chat.shadowRoot!.activeElement?.localName).to.equal('tg-composer');
    press(chat, 'Escape');
    await settled(chat);
    expect(inside(chat, 'footer').textContent).to.include('Stopped');
  });

  it('TgChat: axe finds nothing serious in the offer, light and dark', async () => {
    const chat = await chatWith(engineWith([cutAnswer('a', [user('hi'), assistant('Hello!'), user('x')])]));
    expect(offer(chat)).not.to.equal(null);
    await inBothSchemes(async () => expect(await seriousViolations(chat)).to.deep.equal([]));
  });
});
