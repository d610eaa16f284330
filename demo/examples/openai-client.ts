// OpenAI's own client, with the model in the page: nothing but `fetch` is different. Shown in docs/openai.md.
import OpenAI from 'openai';
import { createEngine } from '../../src/index.ts';

const engine = await createEngine({ model: 'tutor' });
const client = new OpenAI({
  baseURL: 'http://localhost/v1',
  apiKey: 'local',
  fetch: engine.fetch,
  dangerouslyAllowBrowser: true,
});

const stream = await client.chat.completions.create({
  model: 'tutor',
  messages: [{ role: 'user', content: 'What is TTFT?' }],
  stream: true,
  stream_options: { include_usage: true },
});
for await (const chunk of stream) {
  document.body.append(chunk.choices[0]?.delta.content ?? '');
  if (chunk.usage) console.warn(chunk.usage); // with the times of the answer under `tokenglass`
}
