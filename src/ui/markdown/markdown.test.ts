import { expect } from 'chai';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, nextFrame, unmountAll } from '../testing/fixture.ts';
import { markdownSample } from '../testing/markdown-sample.ts';
import { TextStream } from './text-stream.ts';
import { TgMarkdown } from './markdown.ts';

async function show(text: string): Promise<HTMLElement> {
  const element = new TgMarkdown();
  element.text = text;
  await mount(element);
  return inside(element, '.body');
}

describe('TgMarkdown', () => {
  afterEach(unmountAll);

  it('TgMarkdown: shows structure', async () => {
    const body = await show('# Title\n\n**bold** and `code`\n\n- a\n- b');
    expect(body.querySelector('h3')?.textContent).to.equal('Title');
    expect(body.querySelector('strong')?.textContent).to.equal('bold');
    expect(body.querySelectorAll('li')).to.have.length(2);
  });

  it('TgMarkdown: a paragraph that is read from the right stands at the right, and code does not', async () => {
    const body = await show('زمن أول رمز.\n\nFirst token.\n\n```\nرمز\n```');
    const lineOf = (element: Element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return range.getBoundingClientRect();
    };
    const { left, right } = body.getBoundingClientRect();
    const [rtl, ltr] = [...body.querySelectorAll('p')].map(lineOf);
    expect(right - rtl!.right).to.be.lessThan(2);
    expect(ltr!.left - left).to.be.lessThan(2);
    expect(lineOf(body.querySelector('pre code')!).left - left).to.be.lessThan(40);
  });

  describe('model text cannot run script', () => {
    const attacks: Record<string, string> = {
      'a script element': '<script>window.tgHacked = true</script>',
      'an image with a handler': '<img src=x onerror="window.tgHacked = true">',
      'a Markdown image': '![x](https://example.org/pixel.png)',
      'a Markdown image with a data URL': '![x](data:image/svg+xml,<svg onload=alert(1)>)',
      'a javascript link': '[click](javascript:window.tgHacked=true)',
      'a javascript link in disguise': '[click](java\tscript:window.tgHacked=true) [b](JaVaScRiPt:alert(1))',
      'an entity in a link': '[click](&#106;avascript:window.tgHacked=true)',
      'an HTML link': '<a href="javascript:window.tgHacked=true">click</a>',
      'a vbscript link': '[click](vbscript:x)',
      'a data link': '[click](data:text/html,<script>window.tgHacked=true</script>)',
      'an svg with a handler': '<svg onload="window.tgHacked = true"><script>window.tgHacked = true</script></svg>',
      'an iframe': '<iframe srcdoc="<script>parent.tgHacked = true</script>"></iframe>',
      'a form': '<form action="https://example.org"><input name="password"><button>Log in</button></form>',
      'a style': '<style>body { display: none }</style><div style="position:fixed;inset:0">x</div>',
      'a quote out of an attribute': '[a](https://example.org/"onmouseover="window.tgHacked=true)',
      'a quote out of a title': '[a](https://example.org "x\\" onmouseover=\\"window.tgHacked=true")',
      'a language that closes its tag': '```"><img src=x onerror=window.tgHacked=true>\ncode\n```',
      'a table cell': '| a |\n|---|\n| <img src=x onerror=window.tgHacked=true> |',
      'mutation by math':
        '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=x onerror=window.tgHacked=true>">',
      'a template': '<template><script>window.tgHacked = true</script></template>',
      'an object': '<object data="javascript:window.tgHacked=true"></object><embed src="javascript:alert(1)">',
      'an autolink': '<javascript:window.tgHacked=true>',
      'a reference': '[a][b]\n\n[b]: javascript:window.tgHacked=true',
      'a base and a meta':
        '<base href="https://example.org"><meta http-equiv="refresh" content="0;url=https://example.org">',
    };
    for (const [name, text] of Object.entries(attacks)) {
      for (const pieces of [1, text.length]) {
        it(`TgMarkdown: ${name} is text, whole or in ${pieces === 1 ? 'single characters' : 'one piece'}`, async () => {
          const source = new TextStream();
          const element = new TgMarkdown();
          element.source = source;
          await mount(element);
          for (let at = 0; at < text.length; at += pieces) source.append(text.slice(at, at + pieces));
          source.close();
          expect(element.plainText).to.be.a('string');
          const body = inside(element, '.body');
          const forbidden = 'script,img,svg,math,iframe,object,embed,form,style,template,base,meta,video,audio,link';
          expect(body.querySelectorAll(forbidden)).to.have.length(0);
          expect(body.querySelectorAll('input:not([type=checkbox][disabled]), button:not(.copy-code)')).to.have.length(
            0,
          );
          for (const node of body.querySelectorAll('*')) {
            for (const { name: attribute, value } of node.attributes) {
              expect(attribute).not.to.match(/^on|^style$|^src|^id$|^name$/);
              expect(value).not.to.match(/^\s*(javascript|data|vbscript):/i);
            }
          }
          await nextFrame();
          expect('tgHacked' in window).to.equal(false);
        });
      }
    }

    it('TgMarkdown: links open apart and tell nothing', async () => {
      const body = await show('[a](https://example.org) and https://example.com');
      const links = [...body.querySelectorAll('a')];
      expect(links.map((link) => link.href)).to.deep.equal(['https://example.org/', 'https://example.com/']);
      for (const link of links) {
        expect(link.rel).to.include('noopener');
        expect(link.target).to.equal('_blank');
      }
    });

    it('TgMarkdown: a relative link, which would point into the page, leads nowhere', async () => {
      const body = await show('[a](/logout) [b](#x)');
      for (const link of body.querySelectorAll('a')) expect(link.hasAttribute('href')).to.equal(false);
    });
  });

  it('TgMarkdown: however many pieces come, it renders once a frame', async () => {
    const source = new TextStream();
    const element = new TgMarkdown();
    element.source = source;
    await mount(element);
    await nextFrame();
    const before = element.cost.renders;
    for (let index = 0; index < 500; index += 1) source.append('word ');
    expect(element.cost.renders).to.equal(before);
    await nextFrame();
    expect(element.cost.renders).to.equal(before + 1);
    expect(element.streaming).to.equal(true);
    source.close();
    await nextFrame();
    expect(element.streaming).to.equal(false);
    expect(element.plainText.trim()).to.equal('word '.repeat(500).trim());
  });

  it('TgMarkdown: what comes while it is out of the page is shown when it is back', async () => {
    const source = new TextStream();
    const element = new TgMarkdown();
    element.source = source;
    await mount(element);
    source.append('first ');
    await nextFrame();
    const paragraph = inside(element, '.body');
    element.remove();
    source.append('second');
    document.body.append(element);
    await nextFrame();
    expect(paragraph.textContent.trim()).to.equal('first second');
  });

  it('TgMarkdown: another source takes the place of the first', async () => {
    const element = new TgMarkdown();
    element.source = TextStream.of('one');
    await mount(element);
    element.source = TextStream.of('two');
    await element.updateComplete;
    expect(element.plainText.trim()).to.equal('two');
  });

  it('TgMarkdown: axe finds nothing serious, light and dark', async () => {
    const element = new TgMarkdown();
    element.text = `${markdownSample(1)}\n- [x] done\n- [ ] to do\n`;
    await mount(element);
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
