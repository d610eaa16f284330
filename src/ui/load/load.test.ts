import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, nextEvent, unmountAll } from '../testing/fixture.ts';
import { TgLoad } from './load.ts';

async function loadWith(set: Partial<TgLoad>): Promise<TgLoad> {
  const element = new TgLoad();
  Object.assign(element, set);
  return mount(element);
}

describe('TgLoad', () => {
  afterEach(unmountAll);

  it('TgLoad: a download shows bytes, total and words', async () => {
    const element = await loadWith({
      progress: { phase: 'download', loadedBytes: 1_850_000, totalBytes: 3_700_000, label: 'Downloading tutor' },
    });
    const bar = inside(element, '[role=progressbar]');
    expect(bar.getAttribute('aria-valuenow')).to.equal('50');
    expect(bar.getAttribute('aria-valuetext')).to.match(/1[.,]9 MB of 3[.,]7 MB/);
    expect(inside(element, '.words').textContent).to.include('Downloading tutor');
  });

  it('TgLoad: without a total no share is claimed', async () => {
    const element = await loadWith({ progress: { phase: 'download', loadedBytes: 5, label: 'Downloading' } });
    expect(inside(element, '[role=progressbar]').hasAttribute('aria-valuenow')).to.equal(false);
  });

  it('TgLoad: a download tells its pace where it is known', async () => {
    const progress = {
      phase: 'download',
      loadedBytes: 5_000_000,
      totalBytes: 9_000_000,
      label: 'Downloading',
    } as const;
    const element = await loadWith({ progress: { ...progress, bytesPerSecond: 2_000_000, secondsLeft: 125 } });
    expect(inside(element, '.bytes').textContent)
      .to.match(/2[.,]?0? MB\/s/)
      .and.to.include('3 min left');
  });

  it('TgLoad: a warning stays after the load until it is dismissed, and not into the next load', async () => {
    const warning = { code: 'not-saved', message: 'Runs, not saved: the disk is full' } as const;
    const element = await loadWith({ progress: { phase: 'download', loadedBytes: 5, label: 'x', warning } });
    element.progress = undefined;
    await element.updateComplete;
    expect(inside(element, '[role=status]').textContent).to.include(warning.message);
    element.progress = { phase: 'download', loadedBytes: 1, label: 'x' };
    await element.updateComplete;
    expect(element.renderRoot.querySelector('[role=status]')).to.equal(null);
    element.progress = { phase: 'download', loadedBytes: 1, label: 'x', warning };
    await element.updateComplete;
    inside(element, '.warning .dismiss').click();
    await element.updateComplete;
    expect(element.renderRoot.querySelector('[role=status]')).to.equal(null);
  });

  it('TgLoad: a smaller model that is named can be had, after a load that never ended and for a model that is too large', async () => {
    const warning = {
      code: 'interrupted-load',
      message: 'The last load of x never ended',
      smallerModel: 'smollm2-135m',
    } as const;
    const warned = await loadWith({ progress: { phase: 'download', loadedBytes: 5, label: 'x', warning } });
    const details = { smallerModel: 'another' };
    const error = new TokenglassError('model-too-large', 'Cannot load x: it needs 9 GB; take another', { details });
    const failed = await loadWith({ error });
    for (const [element, title, model] of [
      [warned, 'SmolLM2 135M', 'smollm2-135m'],
      [failed, 'another', 'another'],
    ] as const) {
      const wanted = nextEvent(element, 'tg-model');
      const button = inside(element, '.smaller');
      expect(button.textContent).to.include(title);
      button.click();
      expect((await wanted).model).to.equal(model);
    }
    await warned.updateComplete;
    expect(warned.renderRoot.querySelector('.warning')).to.equal(null);
    await inBothSchemes(async () => expect(await seriousViolations(document.body)).to.deep.equal([]));
  });

  it('TgLoad: ready takes no room', async () => {
    const element = await loadWith({ progress: { phase: 'ready', loadedBytes: 5, totalBytes: 5, label: 'Ready' } });
    expect(element.offsetHeight).to.equal(0);
  });

  it('TgLoad: a failure says what happened and what to do, and can be tried again', async () => {
    const error = new TokenglassError('network', 'Cannot download tutor: the host answered 503; try again');
    const element = await loadWith({ error });
    const text = inside(element, '[role=alert]').textContent;
    expect(text).to.include(error.message).and.to.include('goes on where it stopped');
    const retried = nextEvent(element, 'tg-retry');
    inside(element, '.actions button').click();
    await retried;
  });

  it('TgLoad: axe finds nothing serious, light and dark', async () => {
    const error = new TokenglassError('no-adapter', 'Cannot load tutor: no adapter; use onnx-wasm');
    await loadWith({ progress: { phase: 'compile', loadedBytes: 5, label: 'Compiling' } });
    await loadWith({ error });
    await inBothSchemes(async () => expect(await seriousViolations(document.body)).to.deep.equal([]));
  });
});
