import { expect } from 'chai';
import type { StepTrace } from '../../shared/trace.ts';
import { MetricsEmitter } from './metrics-emitter.ts';

const step: StepTrace = {
  kind: 'decode',
  startedAtMs: 0,
  timing: { totalMs: 1 },
  batch: 1,
  tokens: 1,
  contextTokens: 1,
};

describe('MetricsEmitter', () => {
  it('MetricsEmitter: makes no event when nobody listens', () => {
    const emitter = new MetricsEmitter();
    const fail = (): StepTrace => {
      throw new RangeError('made for nobody');
    };
    emitter.emit('step', fail);
    emitter.on('request', () => undefined);
    emitter.on('step', () => undefined)();
    emitter.emit('step', fail);
  });

  it('MetricsEmitter: each subscription is its own, and ends by its own function, also called twice', () => {
    const emitter = new MetricsEmitter();
    let calls = 0;
    const listener = (): void => {
      calls += 1;
    };
    const stop = emitter.on('step', listener);
    emitter.on('step', listener);
    emitter.emit('step', () => step);
    stop();
    stop();
    emitter.emit('step', () => step);
    expect(calls).to.equal(3);
  });

  it('MetricsEmitter: a listener may end itself or another while an event is out', () => {
    const emitter = new MetricsEmitter();
    const heard: string[] = [];
    const stopFirst = emitter.on('step', () => {
      heard.push('first');
      stopFirst();
    });
    emitter.on('step', () => void heard.push('second'));
    emitter.emit('step', () => step);
    emitter.emit('step', () => step);
    expect(heard).to.deep.equal(['first', 'second', 'second']);
  });

  it('MetricsEmitter: a listener that throws is reported and the next one hears the event', () => {
    const emitter = new MetricsEmitter();
    const reported: unknown[] = [];
    const original = console.error;
    console.error = (...parts: unknown[]) => void reported.push(parts);
    let heard: StepTrace | undefined;
    emitter.on('step', () => {
      throw new RangeError('broken');
    });
    emitter.on('step', (event) => (heard = event));
    try {
      emitter.emit('step', () => step);
    } finally {
      console.error = original;
    }
    expect(heard).to.equal(step);
    expect(reported).to.have.length(1);
  });
});
