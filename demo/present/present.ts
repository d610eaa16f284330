import '../../src/ui/index.ts';
import { compareWords } from '../../src/ui/dashboard/index.ts';
import { readPageOptions } from '../page-options.ts';
import { wireTheme } from '../theme.ts';
import { contenders } from './contender.ts';
import { find } from './find.ts';
import { Side } from './side.ts';

const { model, maxTokens } = readPageOptions(location.search);
const query = new URLSearchParams(location.search);
const choices = contenders(model);
const question = find(document, 'input#question');
const order = find(document, 'select#order');
const start = find(document, 'button#start');
const outcome = find(document, 'div#outcome');
const hint = outcome.innerHTML;
const [a, b] = [new Side(find(document, 'div#a'), choices, show), new Side(find(document, 'div#b'), choices, show)];
/** The user has stopped both: the second is not to begin. */
let stopped = false;
let running = false;

wireTheme(find(document, 'button#theme'));
question.value = query.get('q') ?? question.value;
order.value = query.get('order') === 'at-once' ? 'at-once' : 'in-turns';

function show(): void {
  const ready = a.ready && b.ready;
  start.disabled = !ready && !running;
  start.textContent = running ? 'Stop' : 'Start both';
}

/** In turns by default: two engines at once share one device, and each would be measured at the cost of the other. */
async function run(): Promise<void> {
  if (running || !a.ready || !b.ready) return;
  running = true;
  stopped = false;
  show();
  outcome.replaceChildren();
  for (const { lane } of [a, b]) lane.reset();
  const runOne = (side: Side) =>
    side.lane.run({
      messages: [{ role: 'user', content: question.value }],
      maxTokens: Math.min(maxTokens, 120),
      ...side.contender?.request,
    });
  if (order.value === 'at-once') await Promise.all([runOne(a), runOne(b)]);
  else {
    await runOne(a);
    await (isStopped() ? undefined : runOne(b));
  }
  running = false;
  show();
  conclude();
}

const isStopped = (): boolean => stopped;

function stop(): void {
  stopped = true;
  for (const { lane } of [a, b]) lane.stop();
}

function conclude(): void {
  const name = (letter: string, { contender }: Side): string => `${letter} (${contender?.name ?? 'nobody'})`;
  const sentences = compareWords(a.lane.figures, b.lane.figures, name('A', a), name('B', b));
  if (sentences.length > 0)
    sentences.push('One run of each: run them again, or take the benchmark, before you rely on it.');
  outcome.replaceChildren(
    ...sentences.map((sentence) => Object.assign(document.createElement('p'), { textContent: sentence })),
  );
  if (sentences.length === 0) outcome.innerHTML = hint;
}

start.addEventListener('click', () => (running ? stop() : void run()));
document.addEventListener('keydown', (event) => {
  const inField =
    event.target instanceof Element && event.target.closest('input, select, button, a, textarea') !== null;
  if (event.key === 'Escape' && running) stop();
  else if (event.key === ' ' && !inField && !event.repeat) {
    event.preventDefault();
    void run();
  } else if (event.key === 'Enter' && event.target === question) void run();
});

function choose(side: Side, root: HTMLElement, id: string | null, fallback: string): Promise<void> {
  const contender = choices.find((candidate) => candidate.id === id) ?? choices.find((other) => other.id === fallback);
  root.querySelector('select')!.value = contender?.id ?? '';
  return side.choose(contender);
}

void choose(a, find(document, 'div#a'), query.get('a'), 'webgpu').then(() =>
  choose(b, find(document, 'div#b'), query.get('b'), 'onnx-wasm'),
);
