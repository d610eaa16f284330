import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { jsonSchema, generateText, Output } from 'ai';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import OpenAI from 'openai';
import { answer, rejection } from '../../engine/testing/collect.ts';
import { byteTokenizer, BYTE_VOCAB_SIZE } from '../../engine/testing/byte-tokenizer.ts';
import { createFakeEngine } from '../../engine/testing/fake-engine.ts';
import { withOpenAi } from '../../faces/openai/create-openai.ts';
import { createGrammarCompiler } from './create-grammar-compiler.ts';
import { randomSchema } from './testing/random-schemas.ts';

const compileGrammar = createGrammarCompiler(byteTokenizer, BYTE_VOCAB_SIZE);
const messages = [{ role: 'user' as const, content: 'hi' }];
const ajv = new Ajv({ strict: false });
/** Sampled, so that every seed is another answer. */
const sampling = (seed: number) => ({ temperature: 1, seed });

const grammarEngine = () =>
  withOpenAi(
    createFakeEngine({ contextTokens: 20_000, capabilities: { grammarMask: true, runAhead: 3 } }, { compileGrammar })
      .engine,
  );

describe('grammar', () => {
  it('json-schema: 100 seeded schemas, each answer parses and validates', async () => {
    const engine = grammarEngine();
    const wrong: string[] = [];
    for (let seed = 0; seed < 100; seed++) {
      const schema = randomSchema(seed);
      const request = { messages, grammar: { type: 'json-schema', schema } as const, sampling: sampling(seed) };
      const { text, end } = await answer(engine, request);
      const isValid = end.finishReason === 'stop' && ajv.validate(schema, JSON.parse(text));
      if (!isValid) wrong.push(`${seed}: ${text} for ${JSON.stringify(schema)}: ${ajv.errorsText()}`);
    }
    expect(wrong).to.deep.equal([]);
    await engine[Symbol.asyncDispose]();
  });

  it('json: an object, greedy and sampled', async () => {
    const engine = grammarEngine();
    for (const seed of [1, 2, 3]) {
      const request = { messages, grammar: { type: 'json' } as const, sampling: sampling(seed), maxTokens: 15_000 };
      const { text, end } = await answer(engine, request);
      if (end.finishReason === 'stop') expect(JSON.parse(text)).to.be.an('object');
      else expect(text.startsWith('{')).to.equal(true);
    }
    await engine[Symbol.asyncDispose]();
  });

  it('ebnf: a text of the grammar; one that does not parse is refused by name, and the next request works', async () => {
    const engine = grammarEngine();
    const ask = (grammar: string) => answer(engine, { messages, grammar: { type: 'ebnf', grammar } });
    expect((await ask('root ::= "yes" | "no"')).text).to.match(/^(yes|no)$/);
    const error = (await rejection(ask('root ::= ('))) as Error & { code: string; details: { field: string } };
    expect([error.code, error.details.field]).to.deep.equal(['invalid-request', 'grammar']);
    expect((await ask('root ::= "yes" | "no"')).text).to.match(/^(yes|no)$/);
    await engine[Symbol.asyncDispose]();
  });

  it('json-schema: a keyword that tokens cannot be held to is refused, a property of that name is not', async () => {
    const engine = grammarEngine();
    const ask = (schema: object) =>
      answer(engine, { messages, grammar: { type: 'json-schema', schema: schema as Record<string, unknown> } });
    expect((await rejection(ask({ type: 'array', uniqueItems: true }))).code).to.equal('unsupported');
    expect((await rejection(ask({ type: 'object', properties: { 'a"b': {} } }))).code).to.equal('unsupported');
    expect((await rejection(ask({ type: 'string', pattern: '^.{2}$' }))).code).to.equal('unsupported');
    const { text } = await ask({ type: 'object', properties: { not: { type: 'boolean' } }, required: ['not'] });
    expect(Object.keys(JSON.parse(text) as object)).to.deep.equal(['not']);
    await engine[Symbol.asyncDispose]();
  });

  it('grammar: requests with and without one at the same time, and an abort in the middle of one', async () => {
    const engine = grammarEngine();
    const plain = { messages, maxTokens: 10, ignoreEos: true };
    const grammar = { type: 'json-schema', schema: randomSchema(1) } as const;
    const [expected, structured] = [await answer(engine, plain), await answer(engine, { messages, grammar })];
    const controller = new AbortController();
    const aborted = rejection(answer(engine, { messages, grammar }, controller.signal));
    const both = Promise.all([answer(engine, plain), answer(engine, { messages, grammar })]);
    controller.abort();
    expect((await aborted).name).to.equal('AbortError');
    expect((await both).map(({ text }) => text)).to.deep.equal([expected.text, structured.text]);
    await engine[Symbol.asyncDispose]();
  });
});

describe('structured outputs', () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 8 }, people: { type: 'integer', minimum: 0, maximum: 999 } },
    required: ['city', 'people'],
    additionalProperties: false,
  } as const;

  it('openai client: response_format json_schema gives JSON that validates', async () => {
    const engine = grammarEngine();
    const client = new OpenAI({
      baseURL: 'http://localhost/v1',
      apiKey: 'local',
      fetch: engine.fetch,
      dangerouslyAllowBrowser: true,
    });
    const { choices } = await client.chat.completions.create({
      model: 'fake',
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    });
    expect(ajv.validate(schema, JSON.parse(choices[0]!.message.content!)), ajv.errorsText()).to.equal(true);
    await engine[Symbol.asyncDispose]();
  });

  it('AI SDK: an object comes out as its schema says', async () => {
    const { fetch } = grammarEngine();
    const provider = createOpenAICompatible({
      name: 'local',
      baseURL: 'http://localhost/v1',
      fetch,
      supportsStructuredOutputs: true,
    });
    const { output } = await generateText({
      model: provider('fake'),
      messages,
      output: Output.object({
        schema: jsonSchema<{ city: string; people: number }>({ ...schema, required: [...schema.required] }),
      }),
    });
    expect(ajv.validate(schema, output), ajv.errorsText()).to.equal(true);
  });

  it('tool_choice: a forced call names the tool, and its arguments validate', async () => {
    const engine = grammarEngine();
    const tool = { type: 'function', function: { name: 'get_place', parameters: schema } } as const;
    const { choices } = await engine.chat.completions.create({
      messages,
      tools: [tool],
      tool_choice: 'required',
      seed: 5,
      temperature: 1,
    });
    const [call] = choices[0]!.message.tool_calls!;
    expect(call!.function.name).to.equal('get_place');
    expect(ajv.validate(schema, JSON.parse(call!.function.arguments)), ajv.errorsText()).to.equal(true);
    expect([choices[0]!.finish_reason, choices[0]!.message.content]).to.deep.equal(['tool_calls', null]);
    await engine[Symbol.asyncDispose]();
  });
});
