import { expect } from 'chai';
import { copyText } from './copy-text.ts';

const withClipboard = async (clipboard: unknown, work: () => Promise<void>): Promise<void> => {
  Object.defineProperty(navigator, 'clipboard', { configurable: true, value: clipboard });
  try {
    await work();
  } finally {
    delete (navigator as { clipboard?: unknown }).clipboard;
  }
};

describe('copyText', () => {
  it('copyText: takes the Clipboard API where there is one', () => {
    const copied: string[] = [];
    const writeText = (text: string): Promise<void> => Promise.resolve(void copied.push(text));
    return withClipboard({ writeText }, async () => {
      expect(await copyText('abc')).to.equal(true);
      expect(copied).to.deep.equal(['abc']);
    });
  });

  for (const [what, clipboard] of [
    ['has no Clipboard API', undefined],
    ['refuses it', { writeText: () => Promise.reject(new DOMException('no', 'NotAllowedError')) }],
  ] as const)
    it(`copyText: selects and copies where a page ${what}, leaves nothing behind, and gives the focus back`, () =>
      withClipboard(clipboard, async () => {
        const button = document.createElement('button');
        document.body.append(button);
        button.focus();
        let selected = '';
        const onCopy = (): void => {
          selected = (document.activeElement as HTMLTextAreaElement).value;
        };
        document.addEventListener('copy', onCopy);
        const isCopied = await copyText('a text\nof two lines');
        document.removeEventListener('copy', onCopy);
        if (isCopied) expect(selected).to.equal('a text\nof two lines');
        expect(document.querySelector('textarea')).to.equal(null);
        expect(document.activeElement).to.equal(button);
        button.remove();
      }));
});
