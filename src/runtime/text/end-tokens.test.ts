import { expect } from 'chai';
import { findNamedTokens } from './end-tokens.ts';

const endsOf = (...texts: string[]) => {
  const { ends, controls } = findNamedTokens((text) => (texts.includes(text) ? texts.indexOf(text) : undefined));
  return { ends: [...ends].map((id) => texts[id]), isControl: (text: string) => controls.has(texts.indexOf(text)) };
};

describe('findNamedTokens', () => {
  it('findNamedTokens: </s> ends a turn where it is a token of the model, and is text of HTML in Gemma', () => {
    expect(endsOf('<s>', '</s>').ends).to.deep.equal(['</s>']);
    const gemma = endsOf('<pad>', '<eos>', '<bos>', '<start_of_turn>', '<end_of_turn>', '</s>');
    expect(gemma.ends).to.have.members(['<eos>', '<end_of_turn>']);
    expect(gemma.isControl('</s>')).to.equal(false);
  });
});
