import { createEngine } from 'tokenglass';
import { tpot, ttft } from 'tokenglass/metrics';
import 'tokenglass/ui';

const figure = (id: string, value: string) => (document.querySelector(`#${id}`)!.textContent = value);
const chat = document.querySelector('tg-chat')!;
const engine = await createEngine({ model: 'tutor' });

let steps = 0;
engine.metrics.on('step', ({ kind }) => {
  if (kind === 'decode') figure('steps', String((steps += 1)));
});
// The trace of the element has the times at which text reached the page; an absent figure is undefined, never 0.
chat.addEventListener('tg-request-end', ({ trace }) => {
  figure('ttft', trace ? `${ttft(trace)?.toFixed(0) ?? '-'} ms` : '-');
  figure('tpot', trace ? `${tpot(trace)?.toFixed(1) ?? '-'} ms` : '-');
});
chat.engine = engine;
