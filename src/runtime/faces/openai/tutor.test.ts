import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import { expect } from 'chai';
import OpenAI from 'openai';
import { createEndpointEngine } from '../../adapters/endpoint/create-endpoint-engine.ts';
import { createLocalEngine } from '../../load/create-local-engine.ts';
import { answer } from '../../engine/testing/collect.ts';
import { withOpenAi } from './create-openai.ts';

const messages = [{ role: 'user' as const, content: 'What is TTFT?' }];

describe('faces of the built-in model', () => {
  it('greedy: the same text through generate, create, the openai client, the AI SDK, and an endpoint over the face itself', async () => {
    const engine = withOpenAi(await createLocalEngine({ model: 'tutor', engine: 'onnx-wasm', threads: 1 }));
    const model = engine.info.model.id;
    const baseURL = 'http://localhost/v1';
    const { text } = await answer(engine, { messages, maxTokens: 24, sampling: { temperature: 0 } });
    expect(text.length).to.be.greaterThan(20);

    const settings = { messages, max_completion_tokens: 24, temperature: 0 };
    const created = await engine.chat.completions.create(settings);
    const client = new OpenAI({ baseURL, apiKey: 'local', fetch: engine.fetch, dangerouslyAllowBrowser: true });
    const completed = await client.chat.completions.create({ ...settings, model });
    const provider = createOpenAICompatible({ name: 'local', baseURL, fetch: engine.fetch });
    const streamed = streamText({ model: provider(model), messages, maxOutputTokens: 24, temperature: 0 });
    const endpoint = await createEndpointEngine({ baseURL, model, fetch: engine.fetch });
    const asked = await answer(endpoint, { messages, maxTokens: 24, sampling: { temperature: 0 } });

    expect(created.choices[0]!.message.content).to.equal(text);
    expect(completed.choices[0]!.message.content).to.equal(text);
    expect(await streamed.text).to.equal(text);
    expect(asked.text).to.equal(text);
    expect(asked.end.usage.completionTokens).to.equal(created.usage.completion_tokens);
    await engine[Symbol.asyncDispose]();
  });

  for (const name of ['onnx-wasm', 'webgpu'] as const)
    it(`json_schema: the built-in model, which was never taught JSON, keeps to it on ${name}`, async () => {
      const engine = withOpenAi(await createLocalEngine({ model: 'tutor', engine: name }));
      const properties = {
        metric: { enum: ['TTFT', 'ITL', 'TPOT'] },
        ms: { type: 'integer', minimum: 0, maximum: 999 },
      };
      const schema = { type: 'object', properties, required: ['metric', 'ms'], additionalProperties: false };
      const { choices } = await engine.chat.completions.create({
        messages,
        response_format: { type: 'json_schema', json_schema: { name: 'metric', schema } },
      });
      const value = JSON.parse(choices[0]!.message.content!) as { metric: string; ms: number };
      expect(properties.metric.enum).to.include(value.metric);
      expect(value.ms).to.satisfy((ms: number) => Number.isInteger(ms) && ms >= 0 && ms <= 999);
      await engine[Symbol.asyncDispose]();
    });
});
