import { expect } from 'chai';
import type { ReactiveController, ReactiveControllerHost } from 'lit';
import type { Clock } from '../../shared/clock.ts';
import { TokenglassError } from '../../shared/errors.ts';
import type { TokenEvent } from '../../shared/generation.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { Gate } from '../testing/gate.ts';
import { ScriptedEngine, type ScriptedAnswer } from '../testing/scripted-engine.ts';
import { GenerationController, type GenerationListener } from './generation-controller.ts';

/** The least that a controller needs of its element. */
class Host implements ReactiveControllerHost {
  updates = 0;
  readonly updateComplete = Promise.resolve(true);
  addController(_: ReactiveController): void {
    // There is no life cycle here.
  }
  removeController(_: ReactiveController): void {
    // As above.
  }
  requestUpdate(): void {
    this.updates += 1;
  }
}

const controllerWith = (listener: GenerationListener = {}, clock?: Clock) =>
  new GenerationController(new Host(), listener, clock);
const engineWith = (...answers: ScriptedAnswer[]) => new ScriptedEngine((_, call) => answers[call - 1]!);

describe('GenerationController', () => {
  it('GenerationController: goes through queued, prefill, streaming and done', async () => {
    const states: string[] = [];
    const note = () => states.push(controller.state);
    const controller: GenerationController = controllerWith({
      onCall: note,
      onStart: note,
      onFirstText: note,
      onEnd: note,
    });
    expect(controller.state).to.equal('idle');
    await controller.run(engineWith({ tokens: ['a'] }), { prompt: 'x' });
    expect(states).to.deep.equal(['queued', 'prefill', 'streaming', 'done']);
  });

  it('GenerationController: stamps the call, and the first and last non-empty delta, with its clock', async () => {
    let nowMs = 1000;
    const clock = { now: () => (nowMs += 1) };
    const engine = engineWith({ tokens: ['', 'a', '', 'b', ''] });
    const result = await controllerWith({}, clock).run(engine, { prompt: 'x' });
    // The call is read at 1001, the five deltas at 1002 to 1006; the second and the fourth have text.
    expect(engine.requests[0]?.calledAtMs).to.equal(1001);
    expect(result?.trace?.marks).to.deep.include({ calledMs: 1001, firstDeliveredMs: 1003, lastDeliveredMs: 1005 });
    expect(result?.trace?.hidden).to.equal(false);
  });

  it('GenerationController: a page hidden meanwhile marks the trace', async () => {
    const gate = new Gate();
    const run = controllerWith().run(engineWith({ tokens: ['a'], pace: gate.pace }), { prompt: 'x' });
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
    Reflect.deleteProperty(document, 'visibilityState');
    gate.release();
    expect((await run)?.trace?.hidden).to.equal(true);
  });

  it('GenerationController: what an old run says late changes nothing and tells nobody', async () => {
    const gate = new Gate();
    const told: string[] = [];
    const controller = controllerWith({ onDelta: ({ text }) => told.push(text), onError: () => told.push('error') });
    // This engine ignores the signal, as one that is stuck would.
    const deaf: Engine = Object.assign(engineWith(), {
      async *generate(): AsyncGenerator<TokenEvent> {
        await gate.pace(0, undefined);
        yield { type: 'delta', text: 'late', tokens: [] };
        throw new TokenglassError('internal', 'Cannot go on');
      },
    });
    const old = controller.run(deaf, { prompt: 'x' });
    await controller.run(engineWith({ tokens: ['new'] }), { prompt: 'y' });
    gate.release();
    expect(await old).to.equal(undefined);
    expect(told).to.deep.equal(['new']);
    expect(controller.state).to.equal('done');
  });

  it('GenerationController: a failure is a state with a code; the class of the error does not matter', async () => {
    const controller = controllerWith();
    const foreign = Object.assign(new TypeError('gone'), { name: 'TokenglassError', code: 'worker-dead' });
    const failing = (error: unknown): Engine =>
      Object.assign(engineWith(), {
        generate: (): AsyncIterable<TokenEvent> => {
          throw error;
        },
      });
    expect(await controller.run(failing(foreign), { prompt: 'x' })).to.equal(undefined);
    expect([controller.state, controller.error?.code]).to.deep.equal(['error', 'worker-dead']);
    await controller.run(failing(new TypeError('odd')), { prompt: 'x' });
    expect(controller.error?.code).to.equal('internal');
    await controller.run(engineWith({ tokens: ['a'] }), { prompt: 'x' });
    expect([controller.state, controller.error, controller.busy]).to.deep.equal(['done', undefined, false]);
  });

  it('GenerationController: an engine that ends without an end event is an error, not an answer', async () => {
    const controller = controllerWith();
    const silent: Engine = Object.assign(engineWith(), {
      async *generate(): AsyncGenerator<TokenEvent> {
        yield await Promise.resolve({ type: 'delta', text: 'a', tokens: [] } as const);
      },
    });
    await controller.run(silent, { prompt: 'x' });
    expect(controller.error?.code).to.equal('internal');
  });
});
