import { expect } from 'chai';
import { FrameCost } from './frame-cost.ts';

const nextTask = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve));

const nextFrame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));

describe('FrameCost', () => {
  it('ms: the median of the latest frames, from the callback to the task after it', async () => {
    let nowMs = 1000;
    const cost = new FrameCost({ now: () => nowMs });
    expect(cost.ms).to.equal(undefined);
    const frame = async (ms: number): Promise<void> => {
      cost.measure();
      nowMs += ms;
      await nextTask();
    };
    await frame(30);
    expect(cost.ms).to.equal(30);
    await frame(2);
    await frame(9);
    expect(cost.ms).to.equal(9);
    for (let i = 0; i < 8; i++) await frame(5);
    expect(cost.ms, 'what a frame cost long ago is forgotten').to.equal(5);
    cost.stop();
    for (let i = 0; i < 5; i++) await frame(1);
    expect(cost.ms, 'goes on after a stop').to.equal(1);
    cost.stop();
  });

  it('ms: the layout of the frame is within', async () => {
    const events: string[] = [];
    const cost = new FrameCost({ now: () => events.push('clock') });
    const element = document.createElement('div');
    document.body.append(element);
    let sizes = 0;
    const observer = new ResizeObserver(() => sizes++ > 0 && events.push('layout'));
    observer.observe(element);
    while (sizes === 0) await nextFrame();
    await nextFrame();
    cost.measure();
    element.style.height = '40px';
    while (events.length < 3) await nextTask();
    expect(events).to.deep.equal(['clock', 'layout', 'clock']);
    observer.disconnect();
    cost.stop();
    element.remove();
  });
});
