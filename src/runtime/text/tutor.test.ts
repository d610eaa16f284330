import { expect } from 'chai';
import type { ChatMessage } from '../../shared/generation.ts';
import { readGgufHeader } from '../models/gguf/read-header.ts';
import { createLlamaCpp, type LlamaCpp } from '../models/testing/llama-cpp.ts';
import { createGgufChatTemplate, createHubChatTemplate } from './chat-template-source.ts';
import type { ChatTemplate } from './chat-template.ts';
import { encodeChat } from './encode-prompt.ts';
import { createGgufTokenizer } from './gguf-tokenizer.ts';
import { createHubTokenizer } from './hub-tokenizer.ts';
import { createRandomTexts } from './testing/random-texts.ts';
import type { Tokenizer } from './tokenizer.ts';

const TUTOR = new URL('../../../models/tutor/', import.meta.url);
const load = (path: string) => fetch(new URL(path, TUTOR));
const loadJson = async (path: string): Promise<unknown> => (await load(path)).json();

const CHATS: ChatMessage[][] = [
  [{ role: 'user', content: 'What is TTFT?' }],
  [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What is ms/token?' },
    { role: 'assistant', content: 'The time between two tokens.' },
    { role: 'user', content: 'And 한국어 😀?' },
  ],
];

/** The built-in model, in both of its formats. */
describe('the tokenizers of the built-in model', () => {
  let theirs: LlamaCpp;
  let gguf: { tokenizer: Tokenizer; template: ChatTemplate };
  let hub: { tokenizer: Tokenizer; template: ChatTemplate };

  before(async () => {
    const file = await (await load('tutor.q4_0.gguf')).blob();
    const { metadata } = await readGgufHeader(file.stream());
    theirs = await createLlamaCpp(file);
    gguf = { tokenizer: createGgufTokenizer(metadata), template: createGgufChatTemplate(metadata) };
    const [tokenizerJson, tokenizerConfig, generationConfig] = await Promise.all(
      ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'].map(loadJson),
    );
    hub = {
      tokenizer: createHubTokenizer({ tokenizerJson, tokenizerConfig, generationConfig }),
      template: createHubChatTemplate({ tokenizerConfig }),
    };
  });

  after(() => theirs.dispose());

  it('createGgufTokenizer and createHubTokenizer: 1000 texts give the ids of llama.cpp on the GGUF file', async () => {
    for (const text of createRandomTexts(1000, 31, gguf.tokenizer.controlTexts ?? [])) {
      for (const parseControl of [true, false]) {
        const expected = await theirs.tokenize(text, parseControl);
        expect(gguf.tokenizer.encode(text, parseControl), JSON.stringify(text)).to.deep.equal(expected);
        expect(hub.tokenizer.encode(text, parseControl), JSON.stringify(text)).to.deep.equal(expected);
      }
    }
  });

  it('createGgufTokenizer and createHubTokenizer: agree on special ids and on the bytes of every token', () => {
    const ours = [gguf.tokenizer, hub.tokenizer];
    for (const tokenizer of ours) {
      expect(tokenizer.endIds).to.deep.equal(theirs.info.endIds);
      expect([tokenizer.bosId, tokenizer.addBos]).to.deep.equal([theirs.info.bosId, theirs.info.addBos]);
      expect(tokenizer.vocabSize).to.equal(theirs.info.vocabSize);
    }
    for (let id = 0; id < theirs.info.vocabSize; id++) {
      expect(hub.tokenizer.tokenBytes(id)).to.deep.equal(gguf.tokenizer.tokenBytes(id));
      expect(hub.tokenizer.isControl(id)).to.equal(gguf.tokenizer.isControl(id));
    }
  });

  it('encodeChat: a chat is one BOS and the ids of what llama.cpp renders, in both formats', async () => {
    for (const messages of CHATS) {
      const rendered = await theirs.formatChat(messages as Parameters<LlamaCpp['formatChat']>[0]);
      const bos = theirs.info.bosId;
      const expected = (await theirs.tokenize(rendered, true)).filter((id) => id !== bos);
      for (const { tokenizer, template } of [gguf, hub]) {
        expect(encodeChat(tokenizer, template, messages)).to.deep.equal([bos, ...expected]);
      }
    }
  });
});
