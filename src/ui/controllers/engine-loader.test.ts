import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { ScriptedEngine } from '../testing/scripted-engine.ts';
import { EngineLoader, type LoaderState } from './engine-loader.ts';

class Disposable extends ScriptedEngine {
  disposed = false;

  override async [Symbol.asyncDispose](): Promise<void> {
    this.disposed = true;
    return Promise.resolve();
  }
}

const engineOf = () => new Disposable(() => ({ tokens: [] }));
const kinds = (states: LoaderState[]) => states.map((state) => Object.keys(state).join());

describe('EngineLoader', () => {
  it('EngineLoader: goes from progress to an engine', async () => {
    const states: LoaderState[] = [];
    const engine = engineOf();
    const loader = new EngineLoader(
      async ({ onProgress }) => {
        onProgress?.({ phase: 'download', loadedBytes: 1, label: 'x' });
        onProgress?.({ phase: 'ready', loadedBytes: 1, label: 'x' });
        return Promise.resolve(engine);
      },
      (state) => states.push(state),
    );
    expect(await loader.load({ model: 'tutor' })).to.equal(engine);
    expect(kinds(states)).to.deep.equal(['progress', 'progress', 'engine']);
  });

  it('EngineLoader: a failure is a state with a code, and the next load works', async () => {
    let fail: Error | undefined = new TypeError('boom');
    const loader = new EngineLoader(
      async () => (fail === undefined ? Promise.resolve(engineOf()) : Promise.reject(fail)),
      () => undefined,
    );
    await loader.load({ model: 'tutor' }).catch(() => undefined);
    expect(loader.state.error?.code).to.equal('internal');
    fail = new TokenglassError('network', 'Cannot download');
    await loader.load({ model: 'tutor' }).catch(() => undefined);
    expect(loader.state.error?.code).to.equal('network');
    fail = undefined;
    await loader.load({ model: 'tutor' });
    expect(loader.state.engine).to.be.instanceOf(Disposable);
  });

  it('EngineLoader: an engine that comes late is disposed of and does not take the place of a newer one', async () => {
    const [slow, quick] = [engineOf(), engineOf()];
    let finishSlow: (engine: Engine) => void = () => undefined;
    const creations = [new Promise<Engine>((resolve) => (finishSlow = resolve)), Promise.resolve<Engine>(quick)];
    const loader = new EngineLoader(
      async () => creations.shift()!,
      () => undefined,
    );
    const first = loader.load({ model: 'a' }).catch((error: unknown) => (error as Error).name);
    await Promise.resolve();
    await loader.load({ model: 'b' });
    finishSlow(slow);
    expect(await first).to.equal('AbortError');
    expect([slow.disposed, quick.disposed]).to.deep.equal([true, false]);
    expect(loader.state.engine).to.equal(quick);
  });

  it('EngineLoader: the old engine is disposed of before the new one is made', async () => {
    const made: Disposable[] = [];
    const loader = new EngineLoader(
      async () => {
        expect(made.every(({ disposed }) => disposed)).to.equal(true);
        made.push(engineOf());
        return Promise.resolve(made.at(-1)!);
      },
      () => undefined,
    );
    await loader.load({ model: 'a' });
    await loader.load({ model: 'b' });
    await loader.dispose();
    expect(made.map(({ disposed }) => disposed)).to.deep.equal([true, true]);
    expect(loader.state).to.deep.equal({});
  });
});
