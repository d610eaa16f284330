import OpenAI from 'openai';
import { createEngine } from 'tokenglass';

const output = document.querySelector('output')!;
const engine = await createEngine({ model: 'tutor' });
const client = new OpenAI({
  baseURL: 'http://localhost/v1', // never asked: `fetch` answers itself
  apiKey: 'local',
  fetch: engine.fetch,
  dangerouslyAllowBrowser: true,
});

document.querySelector('#ask')!.addEventListener('click', async () => {
  output.textContent = '';
  const chunks = await client.chat.completions.create({
    model: 'tutor',
    messages: [{ role: 'user', content: 'What is TTFT?' }],
    stream: true,
  });
  for await (const chunk of chunks) output.append(chunk.choices[0]?.delta.content ?? '');
});
