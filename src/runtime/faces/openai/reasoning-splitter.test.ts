import { expect } from 'chai';
import { ReasoningSplitter, type SplitText } from './reasoning-splitter.ts';

/** Splits a text that arrives in pieces of the same size. */
function split(text: string, size: number, promptTail?: string): SplitText {
  const splitter = new ReasoningSplitter(promptTail);
  const all = { reasoning: '', content: '' };
  const add = ({ reasoning, content }: SplitText): void => {
    all.reasoning += reasoning;
    all.content += content;
  };
  for (let at = 0; at < text.length; at += size) add(splitter.push(text.slice(at, at + size)));
  add(splitter.flush());
  return all;
}

const CASES: readonly (readonly [what: string, text: string, expected: SplitText, promptTail?: string])[] = [
  ['thoughts first', '<think>\nHm, 2 < 3.\n</think>\n\nYes.', { reasoning: 'Hm, 2 < 3.', content: 'Yes.' }],
  ['empty thoughts', '<think>\n\n</think>\n\nYes.', { reasoning: '', content: 'Yes.' }],
  ['no thoughts', '  Yes, <b>.', { reasoning: '', content: '  Yes, <b>.' }],
  ['marks further on', 'Write <think>x</think>.', { reasoning: '', content: 'Write <think>x</think>.' }],
  ['thoughts cut short', '<think>Hm, </thi', { reasoning: 'Hm, </thi', content: '' }],
  ['a head cut short', '<thi', { reasoning: '', content: '<thi' }],
  ['opened by the template', 'Hm.\n</think>\nYes.', { reasoning: 'Hm.', content: 'Yes.' }, 'assistant\n<think>\n'],
];

describe('ReasoningSplitter', () => {
  for (const [what, text, expected, promptTail] of CASES)
    it(`push: ${what}, wherever pieces are cut`, () => {
      for (let size = 1; size <= text.length; size++) expect(split(text, size, promptTail)).to.deep.equal(expected);
    });
});
