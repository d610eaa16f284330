import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import { createEngine } from 'tokenglass';

const output = document.querySelector('output')!;
const engine = await createEngine({ model: 'tutor' });
const local = createOpenAICompatible({ name: 'local', baseURL: 'http://localhost/v1', fetch: engine.fetch });

document.querySelector('#ask')!.addEventListener('click', async () => {
  output.textContent = '';
  const { textStream } = streamText({ model: local('tutor'), prompt: 'What is TTFT?' });
  for await (const text of textStream) output.append(text);
});
