import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, jsonSchema, tool } from 'ai';
import { expect } from 'chai';
import OpenAI from 'openai';
import { rejection } from '../../engine/testing/collect.ts';
import { byteTokenizer, bytesOf } from '../../engine/testing/byte-tokenizer.ts';
import { createFakeEngine } from '../../engine/testing/fake-engine.ts';
import { scriptedTokens, type NextToken } from '../../engine/testing/next-token.ts';
import { createChatTemplate } from '../../text/chat-template.ts';
import { createPromptEncoder } from '../../text/encode-prompt.ts';
import { withOpenAi } from './create-openai.ts';

/** Written for this test, with what templates of the Hermes family do. */
const TEMPLATE = `{% if tools %}Tools: {% for tool in tools %}{{ tool.function | tojson }};{% endfor %}
{% endif %}{% for message in messages %}[{{ message.role }}]{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}{% if message.name %} from {{ message.name }}{% endif %}
{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`;

const CALL = 'I look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';

const textOf = (ids: readonly number[]): string =>
  new TextDecoder().decode(Uint8Array.from(ids.filter((id) => id < 256)));

/** Calls the tool, and once its answer is in the prompt, says it. */
const weatherModel: NextToken = (history, options) => {
  const prompt = textOf(history.tokens.slice(0, history.promptLength));
  return scriptedTokens(bytesOf(prompt.includes('22 C') ? 'It is 22 C.' : CALL))(history, options);
};

function weatherEngine(template = TEMPLATE) {
  const prompts: string[] = [];
  const encode = createPromptEncoder(byteTokenizer, createChatTemplate({ template }));
  const { engine } = createFakeEngine(
    { contextTokens: 4096, nextToken: weatherModel, capabilities: { maxStepTokens: 4096 } },
    {
      encodePrompt: (input) => {
        const ids = encode(input);
        prompts.push(textOf(ids));
        return ids;
      },
    },
  );
  return { engine: withOpenAi(engine), prompts };
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [
  { type: 'function' as const, function: { name: 'get_weather', description: 'Weather now', parameters } },
];
const messages = [{ role: 'user' as const, content: 'Weather in Paris?' }];

describe('tools', () => {
  it('openai client: a call, its answer and the words after it; streamed and not', async () => {
    const { engine, prompts } = weatherEngine();
    const client = new OpenAI({
      baseURL: 'http://localhost/v1',
      apiKey: 'local',
      fetch: engine.fetch,
      dangerouslyAllowBrowser: true,
    });
    const first = await client.chat.completions.create({ model: 'fake', messages, tools });
    const { message, finish_reason } = first.choices[0]!;
    expect(finish_reason).to.equal('tool_calls');
    expect(message.content).to.equal('I look.');
    const call = message.tool_calls![0]!;
    if (call.type !== 'function') throw new TypeError('no function');
    expect(call.function).to.deep.equal({ name: 'get_weather', arguments: '{"city": "Paris"}' });
    expect(prompts[0]).to.contain('"name": "get_weather"').and.to.contain('Weather now');

    const answered = [...messages, message, { role: 'tool' as const, tool_call_id: call.id, content: '22 C' }];
    const second = await client.chat.completions.create({ model: 'fake', messages: answered, tools });
    expect(second.choices[0]!.message.content).to.equal('It is 22 C.');
    expect(second.choices[0]!.finish_reason).to.equal('stop');
    expect(prompts[1]).to.contain(
      'I look.<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>',
    );
    expect(prompts[1]).to.contain('[tool]22 C from get_weather');

    const final = await client.chat.completions.stream({ model: 'fake', messages, tools }).finalChatCompletion();
    expect(final.choices[0]!.message.tool_calls![0]).to.deep.include({ type: 'function' });
    await engine[Symbol.asyncDispose]();
  });

  it('AI SDK: runs the tool and goes on with its answer', async () => {
    const { engine } = weatherEngine();
    const provider = createOpenAICompatible({ name: 'local', baseURL: 'http://localhost/v1', fetch: engine.fetch });
    const asked: unknown[] = [];
    const { text } = await generateText({
      model: provider('fake'),
      messages,
      stopWhen: isStepCount(3),
      tools: {
        get_weather: tool({
          description: 'Weather now',
          inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
          execute: (input) => {
            asked.push(input);
            return '22 C';
          },
        }),
      },
    });
    expect(asked).to.deep.equal([{ city: 'Paris' }]);
    expect(text).to.equal('It is 22 C.');
    await engine[Symbol.asyncDispose]();
  });

  it('tool_choice: none leaves the tools out, and what looks like a call is text', async () => {
    const { engine, prompts } = weatherEngine();
    const { choices } = await engine.chat.completions.create({ messages, tools, tool_choice: 'none' });
    expect(choices[0]!.message.content).to.equal(CALL);
    expect(prompts[0]).not.to.contain('Tools:');
    await engine[Symbol.asyncDispose]();
  });

  it('tools: are refused by name where the template knows none', async () => {
    const { engine } = weatherEngine('{% for message in messages %}{{ message.content }}{% endfor %}');
    const response = await engine.fetch('/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify({ messages, tools }),
    });
    const { error } = (await response.json()) as { error: { param: string; code: string } };
    expect([response.status, error.param, error.code]).to.deep.equal([400, 'tools', 'unsupported_parameter']);
    const failed = await rejection(engine.chat.completions.create({ messages, tools }));
    expect(failed.message).to.contain('knows no tools');
    await engine[Symbol.asyncDispose]();
  });

  it('template: arguments stay text for a template that puts them in as they are', async () => {
    const { engine, prompts } = weatherEngine(
      `{{ tools }}{% for message in messages %}{{ message.content }}{% for call in message.tool_calls or [] %}{{ 'args:' + call['function']['arguments'] }}{% endfor %}{% endfor %}`,
    );
    const call = { id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{"a":1}' } };
    const answered = [
      ...messages,
      { role: 'assistant' as const, tool_calls: [call] },
      { role: 'tool' as const, tool_call_id: 'a', content: '22 C' },
    ];
    await engine.chat.completions.create({ messages: answered, max_tokens: 1 });
    expect(prompts[0]).to.contain('args:{"a":1}');
    await engine[Symbol.asyncDispose]();
  });

  it('reasoning: thoughts come apart, also where the template opens them', async () => {
    for (const [template, output] of [
      ['{{ messages[0].content }}', '<think>\nHm.\n</think>\n\nYes.'],
      ['{{ messages[0].content }}[assistant]<think>\n', 'Hm.\n</think>\n\nYes.'],
    ] as const) {
      const encodePrompt = createPromptEncoder(byteTokenizer, createChatTemplate({ template }));
      const { engine } = createFakeEngine({ nextToken: scriptedTokens(bytesOf(output)) }, { encodePrompt });
      const { choices } = await withOpenAi(engine).chat.completions.create({ messages });
      expect(choices[0]!.message).to.deep.include({ content: 'Yes.', reasoning_content: 'Hm.' });
      await engine[Symbol.asyncDispose]();
    }
  });
});
