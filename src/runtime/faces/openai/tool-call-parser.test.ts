import { expect } from 'chai';
import { ToolCallParser, type ToolText } from './tool-call-parser.ts';

interface Found {
  content: string;
  calls: { name: string; arguments: string }[];
  /** Pieces in which arguments came. */
  pieces: number;
}

function parse(text: string, size: number, single = false): Found {
  const parser = new ToolCallParser(['get_weather', 'add'], single, () => 'id');
  const found: Found = { content: '', calls: [], pieces: 0 };
  const add = ({ content, calls }: ToolText): void => {
    found.content += content;
    for (const { index, function: called } of calls) {
      const call = (found.calls[index] ??= { name: '', arguments: '' });
      call.name += called.name ?? '';
      call.arguments += called.arguments ?? '';
      found.pieces += 1;
    }
  };
  for (let at = 0; at < text.length; at += size) add(parser.push(text.slice(at, at + size)));
  add(parser.flush());
  return found;
}

const paris = { name: 'get_weather', arguments: '{"city": "Paris"}' };
const sum = { name: 'add', arguments: '{"a": [1, {"b": "}"}], "c": "\\"{"}' };
const hermes = ({ name, arguments: args }: typeof paris): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;

const CASES: readonly (readonly [what: string, text: string, content: string, calls: (typeof paris)[]])[] = [
  ['Hermes, one', hermes(paris), '', [paris]],
  ['Hermes, words before and two calls', `I look.\n${hermes(paris)}\n${hermes(sum)}\n`, 'I look.', [paris, sum]],
  ['Hermes, arguments first', `<tool_call>{"arguments": ${sum.arguments}, "name": "add"}</tool_call>`, '', [sum]],
  ['Hermes, no end tag', hermes(paris).replace('\n</tool_call>', ''), '', [paris]],
  ['Hermes, a tag that is words', 'The tag <tool_call> is a mark', 'The tag<tool_call> is a mark', []],
  ['Llama 3', `{"name": "get_weather", "parameters": ${paris.arguments}}`, '', [paris]],
  [
    'Llama 3, two',
    `{"name": "get_weather", "parameters": ${paris.arguments}}; {"name": "add", "parameters": ${sum.arguments}}`,
    '',
    [paris, sum],
  ],
  ['Llama 3, with its mark', `<|python_tag|>{"name": "add", "parameters": ${sum.arguments}}`, '', [sum]],
  [
    'Mistral, a list',
    `[TOOL_CALLS][{"name": "get_weather", "arguments": ${paris.arguments}}, {"name": "add", "arguments": ${sum.arguments}}]`,
    '',
    [paris, sum],
  ],
  ['Mistral, a list whose mark does not show', `[{"name": "add", "arguments": ${sum.arguments}}]`, '', [sum]],
  [
    'Mistral, name and arguments',
    `[TOOL_CALLS]get_weather[ARGS]${paris.arguments}[TOOL_CALLS]add[ARGS]${sum.arguments}`,
    '',
    [paris, sum],
  ],
  ['Mistral, marks that do not show', `get_weather${paris.arguments}`, '', [paris]],
  ['no arguments', '{"name": "add"}', '', [{ name: 'add', arguments: '{}' }]],
  [
    'arguments in a string',
    '{"name": "add", "arguments": "{\\"a\\": 1}"}',
    '',
    [{ name: 'add', arguments: '{"a": 1}' }],
  ],
  ['JSON that is no call', '{"name": "Ada", "age": 36} and more', '{"name": "Ada", "age": 36} and more', []],
  ['JSON without a name', '{"a": {"name": "add"}}', '{"a": {"name": "add"}}', []],
  ['a list that is no call', '[1, 2] add up', '[1, 2] add up', []],
  ['words that begin like a tool', 'additional words', 'additional words', []],
  ['words only', ' get ready. ', ' get ready. ', []],
];

describe('ToolCallParser', () => {
  for (const [what, text, content, calls] of CASES)
    it(`push: ${what}, wherever pieces are cut`, () => {
      for (let size = 1; size <= text.length; size++) {
        const found = parse(text, size);
        expect(found.calls, `pieces of ${size}`).to.deep.equal(calls);
        expect(found.content, `pieces of ${size}`).to.equal(content);
      }
    });

  it('push: arguments come while the model writes them', () => {
    expect(parse(hermes(paris), 1).pieces).to.be.greaterThan(10);
  });

  it('flush: a call that breaks off stays as far as it came, one that has no name yet is content', () => {
    expect(parse('<tool_call>{"name": "add", "arguments": {"a": 1', 3)).to.deep.include({
      content: '',
      calls: [{ name: 'add', arguments: '{"a": 1' }],
    });
    expect(parse('<tool_call>{"na', 3).content).to.equal('<tool_call>{"na');
  });

  it('single: leaves out every call but the first', () => {
    expect(parse(`${hermes(paris)}${hermes(sum)}`, 5, true).calls).to.deep.equal([paris]);
  });
});
