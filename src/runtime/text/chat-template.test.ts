import { expect } from 'chai';
import { isTokenglassError, type TokenglassError } from '../../shared/errors.ts';
import type { ChatMessage } from '../../shared/generation.ts';
import { createGgufChatTemplate, createHubChatTemplate } from './chat-template-source.ts';
import { createChatTemplate } from './chat-template.ts';
import { CHATML, makeByteLevelMetadata } from './testing/small-tokenizers.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const system = (content: string): ChatMessage => ({ role: 'system', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });

/** Like Gemma's: no system role, turns must alternate. */
const STRICT =
  "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" +
  "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}" +
  "{{ raise_exception('Conversation roles must alternate user/assistant/...') }}{% endif %}" +
  "{{ '<turn>' + m['role'] + '\\n' + m['content'] | trim + '</turn>' + eos_token }}{% endfor %}";
/** Passes over system messages without a word. */
const DEAF =
  "{% for m in messages %}{% if m['role'] != 'system' %}{{ '[' + m['content'] + ']' }}{% endif %}{% endfor %}";

function errorOf(call: () => unknown): TokenglassError {
  try {
    call();
  } catch (error) {
    if (isTokenglassError(error)) return error;
    throw error;
  }
  throw new Error('did not throw');
}

describe('createChatTemplate', () => {
  it('createChatTemplate: renders turns, with the opening of the answer unless it is not wanted', () => {
    const template = createChatTemplate({ template: CHATML });
    const turns = '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n';
    const messages = [user('Hi'), assistant('Yo')];
    expect(template.render(messages)).to.equal(`${turns}<|im_start|>assistant\n`);
    expect(template.render(messages, { addGenerationPrompt: false })).to.equal(turns);
  });

  it('createChatTemplate: gives the template the texts of BOS and EOS, and the variables', () => {
    const template = createChatTemplate({
      template: "{{ bos_token }}{{ messages[0]['content'] }}{% if thinking %}!{% endif %}{{ eos_token }}",
      bosToken: '<s>',
      eosToken: '</s>',
      variables: { thinking: true },
    });
    expect(template.render([user('x')])).to.equal('<s>x!</s>');
  });

  it("createChatTemplate: a template's own refusal is an invalid-request with its words", () => {
    const error = errorOf(() => createChatTemplate({ template: STRICT }).render([user('a'), user('b')]));
    expect(error.code).to.equal('invalid-request');
    expect(error.message).to.include('Conversation roles must alternate user/assistant/...');
    expect(error.details).to.deep.equal({ field: 'messages' });
  });

  it('createChatTemplate: no template, one that does not parse and one that does not run are unsupported and point to `prompt`', () => {
    for (const template of [undefined, '{% if %}', '{{ messages | nonsense_filter }}']) {
      const error = errorOf(() => createChatTemplate({ template }).render([user('a')]));
      expect(error.code).to.equal('unsupported');
      expect(error.message).to.include('`prompt`');
    }
  });

  it('createChatTemplate: developer becomes system unless the template speaks of developers', () => {
    const messages: ChatMessage[] = [{ role: 'developer', content: 'Be brief' }, user('a')];
    expect(createChatTemplate({ template: CHATML }).render(messages)).to.include('<|im_start|>system\nBe brief');
    const knowing = `{# developer #}${CHATML}`;
    expect(createChatTemplate({ template: knowing }).render(messages)).to.include('<|im_start|>developer\nBe brief');
  });

  it('createChatTemplate: where a template refuses or ignores system messages, they open the next user message', () => {
    const strict = createChatTemplate({ template: STRICT });
    expect(strict.render([system('Be brief'), user('a')])).to.equal('<turn>user\nBe brief\n\na</turn>');
    expect(strict.render([user('a'), assistant('b'), system('Now rhyme'), user('c')])).to.include('Now rhyme\n\nc');
    const deaf = createChatTemplate({ template: DEAF });
    expect(deaf.render([system('one'), system('two'), user('a')])).to.equal('[one\n\ntwo\n\na]');
    expect(deaf.render([system('alone')])).to.equal('[alone]');
  });

  it('createChatTemplate: messages given are not changed', () => {
    const messages = Object.freeze([Object.freeze(system('s')), Object.freeze(user('a'))]);
    createChatTemplate({ template: STRICT }).render(messages);
    expect(messages).to.deep.equal([system('s'), user('a')]);
  });
});

describe('createHubChatTemplate', () => {
  const render = (files: Parameters<typeof createHubChatTemplate>[0]) =>
    createHubChatTemplate(files).render([user('x')]);

  it('createHubChatTemplate: takes chat_template.jinja, else the template of tokenizer_config.json, else the default of several', () => {
    const config = { chat_template: 'config', bos_token: { content: '<b>' }, eos_token: '<e>' };
    expect(render({ tokenizerConfig: config })).to.equal('config');
    expect(render({ tokenizerConfig: config, chatTemplate: '{{ bos_token + eos_token }}' })).to.equal('<b><e>');
    const named = [
      { name: 'tool_use', template: 'tools' },
      { name: 'default', template: 'plain' },
    ];
    expect(render({ tokenizerConfig: { chat_template: named } })).to.equal('plain');
    expect(render({ tokenizerConfig: { chat_template: { rag: 'rag' } } })).to.equal('rag');
    expect(errorOf(() => render({ tokenizerConfig: {} })).code).to.equal('unsupported');
    expect(errorOf(() => render({})).code).to.equal('unsupported');
  });
});

describe('createGgufChatTemplate', () => {
  it('createGgufChatTemplate: takes the template of the file and the texts of its BOS and EOS', () => {
    const metadata = makeByteLevelMetadata({ 'tokenizer.chat_template': '{{ bos_token }}|{{ eos_token }}' });
    expect(createGgufChatTemplate(metadata).render([user('x')])).to.equal('<s>|<|im_end|>');
    const without = makeByteLevelMetadata({ 'tokenizer.chat_template': undefined });
    expect(errorOf(() => createGgufChatTemplate(without).render([user('x')])).code).to.equal('unsupported');
  });
});
