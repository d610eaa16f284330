import { expect } from 'chai';
import { SeededRandom } from '../../runtime/models/testing/random.ts';
import { markdownSample } from '../testing/markdown-sample.ts';
import { MarkdownStream } from './markdown-stream.ts';
import { lexBlocks, renderTokens } from './parse.ts';

const wholeHtml = (source: string) => {
  const root = document.createElement('div');
  root.append(renderTokens(lexBlocks(source, {})));
  return normalized(root);
};

/**
 * Markup without what does not show: white space between blocks, and the paragraphs that make a list a loose one (earlier items
 * of a list that turns loose stay as they were).
 */
const normalized = (root: Element) =>
  root.innerHTML
    .replace(/>\s+</g, '><')
    .replace(/<li><p>(.*?)<\/p>/gs, '<li>$1')
    .replace(/\s+(?=<\/(?:li|p)>)/g, '')
    .trim();

const pieces = (source: string, length: number) =>
  Array.from({ length: Math.ceil(source.length / length) }, (_, i) => source.slice(i * length, (i + 1) * length));

function stream(source: string, length: number): { root: HTMLElement; markdown: MarkdownStream } {
  const root = document.createElement('div');
  const markdown = new MarkdownStream(root);
  for (const piece of pieces(source, length)) {
    markdown.append(piece);
    markdown.render();
  }
  markdown.finish();
  return { root, markdown };
}

describe('MarkdownStream', () => {
  for (const length of [1, 3, 4, 7, 50, 100_000]) {
    it(`MarkdownStream: pieces of ${length} characters end in the same markup as the whole`, () => {
      const source = markdownSample(2);
      expect(normalized(stream(source, length).root)).to.equal(wholeHtml(source));
    });
  }

  const awkward: Record<string, string> = {
    'a setext heading': 'Title\n---\n\ntext\n',
    'a rule after a list': '- a\n- b\n---\n\nend',
    'a change of bullets': '- a\n- b\n* c\n* d\n\ntext',
    'a fence in a list': '- a\n\n  ```js\n  let x;\n  ```\n- b\n',
    'an unclosed fence': 'text\n\n```py\nprint(1)\n\nprint(2)',
    'a tilde fence with backticks inside': '~~~\n```\nx\n```\n~~~\nafter',
    'a fence of four': '````md\n```\nx\n```\n````\n\nafter',
    'an indented fence': '  ```\n  a\n    b\n  ```\nafter',
    'a table that a paragraph follows': '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n\nafter',
    'a table that a quote ends': '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n> quote',
    'a text that becomes a table': 'head\n\na | b\n--|--\n1 | 2\n3 | 4\n',
    'carriage returns': 'a\r\n\r\n- b\r\n- c\r\n\r\nd',
    'an ordered list from 7': '7. a\n8. b\n9. c\n\nend',
    'a task list': '- [ ] a\n- [x] b\n- [ ] c\n',
    'inline HTML': 'a <b>bold</b> word and <br> a break\n\n<div>\nblock\n</div>\n\nend',
    'emphasis across lines': 'so *this\nis* one, **that\ntoo**\n\nend',
    'nothing but white space': '\n\n  \n',
  };
  for (const [name, source] of Object.entries(awkward)) {
    it(`MarkdownStream: ${name}, one character at a time, equals the whole`, () => {
      expect(normalized(stream(source, 1).root)).to.equal(wholeHtml(source));
    });
  }

  it('MarkdownStream: finished blocks keep their nodes', () => {
    const root = document.createElement('div');
    const markdown = new MarkdownStream(root);
    markdown.append('# One\n\nfirst paragraph\n\n- item a\n- item b\n- item');
    markdown.render();
    const heading = root.querySelector('h3');
    const paragraph = root.querySelector('p');
    const [itemA, itemB] = root.querySelectorAll('li');
    markdown.append(' c\n\n```js\nlet a = 1;\nlet b');
    markdown.render();
    const code = root.querySelector('code');
    const firstLine = code?.firstChild;
    markdown.append(' = 2;\n```\n\n| a |\n|---|\n| 1 |\n| 2 |\n| 3 |');
    markdown.render();
    const row = root.querySelector('tbody tr');
    markdown.append('\n| 4 |\n\nend');
    markdown.finish();
    expect(root.querySelector('h3')).to.equal(heading);
    expect(root.querySelector('p')).to.equal(paragraph);
    expect([...root.querySelectorAll('li')].slice(0, 2)).to.deep.equal([itemA, itemB]);
    expect(root.querySelectorAll('li')).to.have.length(3);
    expect(root.querySelector('code')).to.equal(code);
    expect(code?.firstChild).to.equal(firstLine);
    expect(code?.textContent).to.equal('let a = 1;\nlet b = 2;\n');
    expect(root.querySelector('tbody tr')).to.equal(row);
    expect(root.querySelectorAll('tbody tr')).to.have.length(4);
  });

  it('MarkdownStream: a long paragraph is shown once, while it streams and at its end', () => {
    const words = Array.from({ length: 700 }, (_, index) => `word${index}`).join(' ');
    for (const source of [words, `- ${words}`, `> ${words}`, `**${words}**`, `# ${words}`, `${words}\n\n${words}`]) {
      const root = document.createElement('div');
      const markdown = new MarkdownStream(root);
      let given = '';
      for (const piece of pieces(source, 13)) {
        given += piece;
        markdown.append(piece);
        markdown.render();
        const shown = root.textContent.match(/word\d+/g) ?? [];
        expect(shown, `after ${given.length} characters`).to.deep.equal(given.match(/word\d+/g) ?? []);
      }
      markdown.finish();
      expect(normalized(root)).to.equal(wholeHtml(source));
    }
  });

  it('MarkdownStream: long texts cut anywhere end as the whole does', () => {
    const random = new SeededRandom(7);
    const source = Object.values(shapes)
      .map((shape) => shape(6))
      .join('\n\n');
    for (let run = 0; run < 12; run++) {
      const root = document.createElement('div');
      const markdown = new MarkdownStream(root);
      for (let at = 0; at < source.length;) {
        const length = 1 + random.integer(run % 2 ? 600 : 40);
        markdown.append(source.slice(at, at + length));
        markdown.render();
        at += length;
      }
      markdown.finish();
      expect(normalized(root), `run ${run}`).to.equal(wholeHtml(source));
    }
  });

  const shapes: Record<string, (blocks: number) => string> = {
    'a mixed answer': (n) => markdownSample(n),
    'one code fence': (n) => `\`\`\`\n${'const line = "of code";\n'.repeat(n * 30)}`,
    'one list': (n) => '- an item of a long list\n'.repeat(n * 30),
    'one table': (n) => `| a | b |\n|---|---|\n${'| one | two |\n'.repeat(n * 60)}`,
    'one paragraph without a break': (n) => 'words and **more** words '.repeat(n * 35),
    'one item with a nested list': (n) => `- item\n${'  - nested item\n'.repeat(n * 40)}`,
  };
  for (const [name, shape] of Object.entries(shapes)) {
    it(`MarkdownStream: ${name} of about 5,000 tokens costs twice what half of it costs`, () => {
      const [half, whole] = [shape(12), shape(24)];
      const costOf = (source: string) => stream(source, 4).markdown.cost.parsedCharacters + source.length;
      const [halfCost, wholeCost] = [costOf(half), costOf(whole)];
      expect(whole.length).to.be.greaterThan(15_000);
      expect(wholeCost / halfCost).to.be.lessThan(2.25);
    });
  }
});
