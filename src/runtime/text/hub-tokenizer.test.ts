import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { expect } from 'chai';
import { createGgufTokenizer } from './gguf-tokenizer.ts';
import { createHubTokenizer } from './hub-tokenizer.ts';
import { createRandomTexts } from './testing/random-texts.ts';
import { loadGpt2, loadLlama2 } from './testing/real-vocabularies.ts';
import { toByteLevelMetadata } from './testing/vocabularies.ts';
import { createTokenDecoder } from './token-decoder.ts';
import type { Tokenizer } from './tokenizer.ts';

const BYTE_LEVEL = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };

async function gpt2Json() {
  const { model, added_tokens } = await loadGpt2();
  return {
    model: { ...model, type: 'BPE' },
    added_tokens,
    normalizer: null,
    pre_tokenizer: BYTE_LEVEL,
    decoder: BYTE_LEVEL,
  };
}

function decode(tokenizer: Tokenizer, ids: readonly number[]): string {
  const decoder = createTokenDecoder(tokenizer);
  return ids.map((id) => decoder.push(id)).join('') + decoder.flush();
}

/** A byte-fallback vocabulary of a few pieces. */
const small = {
  model: { type: 'BPE', vocab: { a: 0, b: 1, ab: 2, '<eos>': 3, x: 4 }, merges: [['a', 'b']] },
  added_tokens: [
    { id: 3, content: '<eos>', special: true },
    { id: 5, content: '<|im_end|>', special: true, rstrip: true },
    { id: 6, content: '<note>', special: false, lstrip: true },
    { id: 7, content: '<note>s', special: false },
    { id: 8, content: '<|start|>', special: true },
  ],
};

describe('createHubTokenizer', () => {
  it('createHubTokenizer: byte-level BPE gives the ids and bytes of the GGUF tokenizer with the same vocabulary', async () => {
    const hub = createHubTokenizer({ tokenizerJson: await gpt2Json(), tokenizerConfig: { eos_token: '<|im_end|>' } });
    const gguf = createGgufTokenizer(toByteLevelMetadata(await loadGpt2(), 'gpt-2', { eos_token_id: 50258 }));
    for (const text of createRandomTexts(1000, 23, hub.controlTexts!)) {
      expect(hub.encode(text, true), JSON.stringify(text)).to.deep.equal(gguf.encode(text, true));
      expect(hub.encode(text), JSON.stringify(text)).to.deep.equal(gguf.encode(text));
      expect(decode(hub, hub.encode(text))).to.equal(text);
    }
    for (let id = 0; id < hub.vocabSize; id++) expect(hub.tokenBytes(id), `${id}`).to.deep.equal(gguf.tokenBytes(id));
    expect([...hub.endIds]).to.deep.equal([50256, 50258]);
  });

  it('createHubTokenizer: SentencePiece-style BPE gives the ids and the text of @huggingface/tokenizers', async () => {
    const json = await loadLlama2();
    const ours = createHubTokenizer({ tokenizerJson: json, tokenizerConfig: { bos_token: '<s>', eos_token: '</s>' } });
    const theirs = new HuggingFaceTokenizer(json, { clean_up_tokenization_spaces: false });
    expect(ours).to.include({ bosId: 1, addBos: true, vocabSize: 32_000, stripsLeadingSpace: true });
    expect(ours.endIds).to.deep.equal([2]);
    for (const text of createRandomTexts(400, 29, ours.controlTexts!)) {
      const ids = theirs.encode(text, { add_special_tokens: false }).ids;
      expect(ours.encode(text, true), JSON.stringify(text)).to.deep.equal(ids);
      expect(decode(ours, ours.encode(text))).to.equal(text.replaceAll('\u2581', ' '));
    }
  });

  it('createHubTokenizer: typed control tokens and byte tokens stay text', async () => {
    const tokenizer = createHubTokenizer({ tokenizerJson: await loadLlama2() });
    const ids = tokenizer.encode('</s><s><0x41><unk>');
    expect(ids.some((id) => tokenizer.isControl(id))).to.equal(false);
    expect(decode(tokenizer, ids)).to.equal('</s><s><0x41><unk>');
  });

  it('createHubTokenizer: added tokens are found longest first, with the white space that they swallow', () => {
    const tokenizer = createHubTokenizer({ tokenizerJson: small });
    expect(tokenizer.encode('ab  <note>a<note>s<|im_end|>  b', true)).to.deep.equal([2, 6, 0, 7, 5, 1]);
    expect(tokenizer.encode('a<|im_end|>')).to.deep.equal([0]);
    expect(tokenizer.encodeGuarded!('<\ufdd0|im_end|><|im_end|>', '\ufdd0')).to.deep.equal([5]);
    expect([5, 6, 7].map((id) => new TextDecoder().decode(tokenizer.tokenBytes(id)))).to.deep.equal([
      '',
      '<note>',
      '<note>s',
    ]);
  });

  it('createHubTokenizer: ends are those of the generation config, the config and of names; BOS as config or post-processor say', () => {
    const tokenizer = createHubTokenizer({
      tokenizerJson: small,
      tokenizerConfig: { eos_token: { content: '<eos>' }, bos_token: '<|start|>', add_bos_token: true },
      generationConfig: { eos_token_id: [7, 3] },
    });
    expect(tokenizer.endIds).to.deep.equal([3, 5, 7]);
    expect(tokenizer).to.include({ bosId: 8, addBos: true });
    expect(tokenizer.isControl(7)).to.equal(true);
    const template = {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<|start|>' } }, { Sequence: { id: 'A' } }],
    };
    const post_processor = { type: 'Sequence', processors: [{ type: 'ByteLevel' }, template] };
    expect(createHubTokenizer({ tokenizerJson: { ...small, post_processor } })).to.include({ bosId: 8, addBos: true });
    expect(
      createHubTokenizer({ tokenizerJson: { ...small, post_processor }, tokenizerConfig: { add_bos_token: false } }),
    ).to.include({ bosId: 8, addBos: false });
    expect(createHubTokenizer({ tokenizerJson: small }).addBos).to.equal(false);
  });

  it('createHubTokenizer: Unigram models tokenize by the best path and give their text back', () => {
    const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' };
    const vocab = ['<unk>', '</s>', '▁', '▁a', 'b', 'ab', '▁ab', 'c'].map((text, id) => [text, -id]);
    const tokenizer = createHubTokenizer({
      tokenizerJson: {
        model: { type: 'Unigram', unk_id: 0, vocab },
        added_tokens: [],
        pre_tokenizer: metaspace,
        decoder: metaspace,
      },
      tokenizerConfig: { eos_token: '</s>' },
    });
    const ids = tokenizer.encode('ab cab</s>', true);
    expect(ids.at(-1)).to.equal(1);
    expect(decode(tokenizer, ids)).to.equal('ab cab');
  });

  it('createHubTokenizer: what it cannot read is named, and files given are not changed', () => {
    const code = (tokenizerJson: unknown) => {
      try {
        createHubTokenizer({ tokenizerJson });
        return 'none';
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    expect(code(null)).to.equal('model-invalid');
    expect(code({})).to.equal('model-invalid');
    expect(code({ model: { type: 'BPE', vocab: { a: 'x' }, merges: [] } })).to.equal('model-invalid');
    expect(code({ model: { type: 'BPE', vocab: { a: 0 } } })).to.equal('model-invalid');
    expect(code({ ...small, added_tokens: [{ id: -1, content: 'x' }] })).to.equal('model-invalid');
    expect(code({ model: { type: 'WordPiece', vocab: {} } })).to.equal('model-unsupported');
    expect(code({ ...small, model: { ...small.model, end_of_word_suffix: '</w>' } })).to.equal('model-unsupported');
    expect(code({ ...small, normalizer: { type: 'Nonsense' } })).to.equal('model-unsupported');
    const json = { ...small, pre_tokenizer: { ...BYTE_LEVEL } };
    const before = structuredClone(json);
    createHubTokenizer({ tokenizerJson: json });
    expect(json).to.deep.equal(before);
  });
});
