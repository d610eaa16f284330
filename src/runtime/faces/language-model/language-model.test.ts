import { expect } from 'chai';
import { byteTokenizer, bytesOf, BYTE_VOCAB_SIZE } from '../../engine/testing/byte-tokenizer.ts';
import { answer, rejection } from '../../engine/testing/collect.ts';
import { createFakeEngine } from '../../engine/testing/fake-engine.ts';
import { scriptedTokens } from '../../engine/testing/next-token.ts';
import { endless } from '../../engine/testing/requests.ts';
import { createGrammarCompiler } from '../../text/grammar/create-grammar-compiler.ts';
import { createLanguageModel, installLanguageModel } from './install-language-model.ts';

const greedy = { temperature: 0, topK: 1 };

describe('LanguageModel', () => {
  it('prompt: remembers what was said, as messages to the engine', async () => {
    const { engine } = createFakeEngine({ contextTokens: 4096 });
    const initialPrompts = [{ role: 'system' as const, content: 'Be short.' }];
    const session = await createLanguageModel(engine).create({ ...greedy, initialPrompts });
    expect(session.contextUsage).to.equal(await engine.countTokens({ messages: initialPrompts }));
    const first = await session.prompt('Hi');
    const messages = [...initialPrompts, { role: 'user' as const, content: 'Hi' }];
    const sampling = { temperature: 0, topK: 1 };
    expect(first).to.equal((await answer(engine, { messages, sampling })).text);
    const more = [
      ...messages,
      { role: 'assistant' as const, content: first },
      { role: 'user' as const, content: 'And?' },
    ];
    const pieces: string[] = [];
    for await (const piece of session.promptStreaming('And?')) pieces.push(piece);
    const expected = await answer(engine, { messages: more, sampling });
    expect(pieces.join('')).to.equal(expected.text);
    expect(pieces.length).to.be.greaterThan(1);
    expect(session.contextUsage).to.equal(expected.end.usage.promptTokens + expected.ids.length);
    await engine[Symbol.asyncDispose]();
  });

  it('append, measureContextUsage and clone: what is appended is measured, and a clone goes its own way', async () => {
    const { engine } = createFakeEngine({ contextTokens: 4096 });
    const session = await createLanguageModel(engine).create(greedy);
    const measured = await session.measureContextUsage('A fact.');
    await session.append('A fact.');
    expect(session.contextUsage).to.equal(measured);
    const copy = await session.clone();
    expect(copy.contextUsage).to.equal(session.contextUsage);
    expect(await copy.prompt('Hi')).to.equal(await session.prompt('Hi'));
    await copy.prompt('More');
    expect(copy.contextUsage).to.be.greaterThan(session.contextUsage);
    await engine[Symbol.asyncDispose]();
  });

  it('prompt: an abort rejects with AbortError, and is not remembered', async () => {
    const { engine } = createFakeEngine({ nextToken: endless, completion: 'task' });
    const session = await createLanguageModel(engine).create(greedy);
    const controller = new AbortController();
    const running = rejection(session.prompt('Hi', { signal: controller.signal }));
    controller.abort();
    expect((await running).name).to.equal('AbortError');
    expect(session.contextUsage).to.equal(0);
    const destroyed = rejection(session.prompt('Hi'));
    session.destroy();
    expect((await destroyed).name).to.equal('AbortError');
    expect((await rejection(session.prompt('Hi'))).name).to.equal('InvalidStateError');
    await engine[Symbol.asyncDispose]();
  });

  it('prompt: the oldest turns are forgotten when the context is full; what can never fit is QuotaExceededError', async () => {
    const { engine } = createFakeEngine({ contextTokens: 200, nextToken: scriptedTokens(bytesOf('ok')) });
    const session = await createLanguageModel(engine).create(greedy);
    let overflows = 0;
    session.oncontextoverflow = () => (overflows += 1);
    for (let turn = 0; turn < 6; turn++) expect(await session.prompt('x'.repeat(50))).to.equal('ok');
    expect(overflows).to.be.greaterThan(0);
    expect(session.contextUsage).to.be.at.most(session.contextWindow);
    const error = (await rejection(session.prompt('x'.repeat(500)))) as Error & { quota: number };
    expect([error.name, error.quota]).to.deep.equal(['QuotaExceededError', 200]);
    await engine[Symbol.asyncDispose]();
  });

  it('prompt: a constraint holds, a regular expression and images are refused, and so are system messages later on', async () => {
    const compileGrammar = createGrammarCompiler(byteTokenizer, BYTE_VOCAB_SIZE);
    const { engine } = createFakeEngine(
      { contextTokens: 4096, capabilities: { grammarMask: true } },
      { compileGrammar },
    );
    const model = createLanguageModel(engine);
    const session = await model.create(greedy);
    const answered = await session.prompt('Yes?', { responseConstraint: { type: 'boolean' } });
    expect(['true', 'false']).to.include(answered.trim());
    expect((await rejection(session.prompt('x', { responseConstraint: /x/ }))).name).to.equal('NotSupportedError');
    expect((await rejection(session.prompt([{ role: 'system', content: 'x' }]))).name).to.equal('NotSupportedError');
    const image = [{ role: 'user' as const, content: [{ type: 'image', value: {} }] }];
    expect((await rejection(session.prompt(image))).name).to.equal('NotSupportedError');
    expect(await model.availability({ expectedInputs: [{ type: 'image' }] })).to.equal('unavailable');
    expect(await model.availability()).to.equal('available');
    expect(await rejection(model.create({ temperature: 9 }))).to.be.instanceOf(RangeError);
    await engine[Symbol.asyncDispose]();
  });
});

describe('installLanguageModel', () => {
  it('install: only where there is none, unless asked to replace, and can be taken back', async () => {
    const { engine } = createFakeEngine();
    const own = { create: 'the browser' };
    const target: { LanguageModel?: unknown } = { LanguageModel: own };
    installLanguageModel(engine, { target })();
    expect(target.LanguageModel).to.equal(own);
    const takeBack = installLanguageModel(engine, { target, replace: true });
    expect(target.LanguageModel).not.to.equal(own);
    takeBack();
    expect(target.LanguageModel).to.equal(own);
    const empty: { LanguageModel?: unknown } = {};
    const remove = installLanguageModel(engine, { target: empty });
    expect(empty).to.have.property('LanguageModel');
    remove();
    expect(empty).not.to.have.property('LanguageModel');
    await engine[Symbol.asyncDispose]();
  });
});
