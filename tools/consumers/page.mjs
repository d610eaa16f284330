// What every consumer of the matrix is built from: the page of a stranger, in three lines, which tells a test what it got.

/** The three lines, and what a test asks after. `?engine=` takes another engine than `auto`, `?json` holds the answer to a grammar. */
export const APP = `import { createEngine } from 'tokenglass';
import 'tokenglass/ui';

async function ask() {
  const query = new URLSearchParams(location.search);
  const chat = document.createElement('tg-chat');
  document.body.append(chat);
  const engine = await createEngine({ model: 'tutor', engine: query.get('engine') ?? 'auto' });
  chat.engine = engine;
  const request = { messages: [{ role: 'user', content: 'What is TTFT?' }], maxTokens: 24 };
  if (query.has('json')) request.grammar = { type: 'json' };
  let text = '';
  for await (const event of engine.generate(request)) if (event.type === 'delta') text += event.text;
  return { text, engine: engine.info.engine, worker: engine.info.worker, reason: engine.info.reason };
}

if (typeof window !== 'undefined' && !window.asked) {
  window.asked = true;
  ask().then(
    (answer) => (window.answer = answer),
    (error) => (window.answer = { error: String(error && error.message), code: error && error.code }),
  );
}
`;

/** A page that loads a module. */
export const html = (script, head = '') =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">${head}</head><body>${script}</body></html>\n`;
