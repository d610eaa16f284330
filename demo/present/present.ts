import '../../src/ui/index.ts';
import { compareWords } from '../../src/ui/dashboard/index.ts';
import { readPageOptions } from '../page-options.ts';
import { wireTheme } from '../theme.ts';
import type { ChatMessage } from '../../src/index.ts';
import { COMPARISONS, contenders, type Comparison } from './contender.ts';
import { find } from './find.ts';
import { LONG_PROMPT } from './long-prompt.ts';
import { Side } from './side.ts';

const { model, maxTokens } = readPageOptions(location.search);
const query = new URLSearchParams(location.search);
const choices = contenders(model);
const question = find(document, 'input#question');
const comparison = find(document, 'select#comparison');
const before = find(document, 'select#before');
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
const offered = COMPARISONS.filter(({ a, b }) => [a, b].every((id) => choices.some((choice) => choice.id === id)));
comparison.replaceChildren(...offered.map(({ id, name }) => new Option(name, id)), new Option('as chosen below', ''));
order.value = query.get('order') === 'at-once' ? 'at-once' : 'in-turns';

function show(): void {
  const ready = a.ready && b.ready;
  start.disabled = !ready && !running;
  start.textContent = running ? 'Stop' : 'Start both';
  comparison.disabled = before.disabled = running;
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
      messages: [...systemOf(), { role: 'user', content: question.value }],
      maxTokens: Math.min(maxTokens, 120),
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

const systemOf = (): ChatMessage[] => (before.value === 'long' ? [{ role: 'system', content: LONG_PROMPT }] : []);

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

const pick = { a: find(find(document, 'div#a'), 'select'), b: find(find(document, 'div#b'), 'select') };

/** One after the other: two models that load at once would be slower, and no sooner. */
async function compare(wanted: Pick<Comparison, 'a' | 'b' | 'longPrompt'>): Promise<void> {
  before.value = wanted.longPrompt ? 'long' : 'nothing';
  pick.a.value = wanted.a;
  pick.b.value = wanted.b;
  nameComparison();
  const system = systemOf();
  for (const [side, id] of [
    [a, wanted.a],
    [b, wanted.b],
  ] as const)
    if (side.contender?.id === id) await side.setSystem(system);
    else
      await side.choose(
        choices.find((choice) => choice.id === id),
        system,
      );
}

/** Which of the comparisons the three choices are, if one. */
function nameComparison(): void {
  const longPrompt = before.value === 'long';
  comparison.value =
    offered.find((one) => one.a === pick.a.value && one.b === pick.b.value && one.longPrompt === longPrompt)?.id ?? '';
}

comparison.addEventListener('change', () => {
  const chosen = offered.find(({ id }) => id === comparison.value);
  if (chosen) void compare(chosen);
});
before.addEventListener('change', () => {
  for (const side of [a, b]) void side.setSystem(systemOf());
  nameComparison();
});
for (const select of Object.values(pick)) select.addEventListener('change', nameComparison);

const asked = offered.find(({ id }) => id === query.get('compare')) ?? offered[0]!;
const idOf = (letter: 'a' | 'b'): string => choices.find(({ id }) => id === query.get(letter))?.id ?? asked[letter];
void compare({
  a: idOf('a'),
  b: idOf('b'),
  longPrompt: query.has('before') ? query.get('before') === 'long' : asked.longPrompt,
});
