import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inside, mount, nextEvent, unmountAll } from '../testing/fixture.ts';
import { ScriptedEngine } from '../testing/scripted-engine.ts';
import type { TgLoad } from '../load/load.ts';
import { TgAssistant } from './assistant.ts';

async function assistantWith(set: Partial<TgAssistant> = {}, failures = 0) {
  const assistant = new TgAssistant();
  const asked: string[] = [];
  Object.assign(assistant, {
    createEngine: async ({ model, engine }: { model: string; engine: string }) => {
      asked.push(`${model} ${engine}`);
      if (asked.length <= failures) throw new TokenglassError('network', 'Cannot download: no answer; try again');
      return Promise.resolve(new ScriptedEngine(() => ({ tokens: ['yes'] })));
    },
    ...set,
  });
  await mount(assistant);
  return { assistant, asked };
}

describe('TgAssistant', () => {
  afterEach(unmountAll);

  it('TgAssistant: nothing is loaded until somebody asks, and then the question is answered', async () => {
    const { assistant, asked } = await assistantWith({ model: 'x', backend: 'onnx-wasm' });
    expect(asked).to.deep.equal([]);
    const ended = nextEvent(assistant, 'tg-request-end');
    await assistant.chat?.ask('question');
    expect((await ended).text).to.equal('yes');
    expect(asked).to.deep.equal(['x onnx-wasm']);
  });

  it('TgAssistant: turning to the field begins to load', async () => {
    const { assistant, asked } = await assistantWith();
    const ready = nextEvent(assistant, 'tg-ready');
    assistant.chat?.focus();
    await ready;
    expect(asked).to.deep.equal(['tutor auto']);
    expect(assistant.engine).to.be.instanceOf(ScriptedEngine);
  });

  it('TgAssistant: eager loads with the page, and another model is loaded in place of the first', async () => {
    const { assistant, asked } = await assistantWith({ eager: true });
    await nextEvent(assistant, 'tg-ready');
    assistant.model = 'other';
    await nextEvent(assistant, 'tg-ready');
    expect(asked).to.deep.equal(['tutor auto', 'other auto']);
  });

  it('TgAssistant: a failed load is shown, and loading again answers the question that waits', async () => {
    const { assistant } = await assistantWith({}, 1);
    await assistant.chat?.ask('question');
    await assistant.updateComplete;
    const load = inside<TgLoad>(assistant, 'tg-load');
    await new Promise((resolve) => setTimeout(resolve));
    await assistant.updateComplete;
    await load.updateComplete;
    expect(inside(load, '[role=alert]').textContent).to.include('no answer');
    const ended = nextEvent(assistant, 'tg-request-end');
    inside(load, 'button').click();
    expect((await ended).text).to.equal('yes');
  });

  it('TgAssistant: the overlay follows its chat', async () => {
    const { assistant } = await assistantWith({ overlay: '' });
    const overlay = inside<HTMLElementTagNameMap['tg-overlay']>(assistant, 'tg-overlay');
    expect(overlay.source).to.equal(assistant.chat);
    expect(overlay.placement).to.equal('inline');
    assistant.overlay = 'top-left';
    await assistant.updateComplete;
    expect(overlay.placement).to.equal('top-left');
  });

  it('TgAssistant: axe finds nothing serious', async () => {
    const { assistant } = await assistantWith({ overlay: '', eager: true });
    await nextEvent(assistant, 'tg-ready');
    expect(await seriousViolations(assistant)).to.deep.equal([]);
  });
});
