/**
 * Wraps code in a figure with its language and a copy button, and tables in a box that scrolls. Works on nodes that are
 * already safe, and adds only nodes of our own.
 */
export function dressBlocks(root: DocumentFragment): void {
  for (const pre of root.querySelectorAll('pre')) {
    const figure = createCodeFigure(pre.title);
    pre.replaceWith(figure.element);
    figure.code.append(...(pre.querySelector('code')?.childNodes ?? []));
  }
  for (const table of root.querySelectorAll('table')) {
    const box = document.createElement('div');
    box.className = 'table';
    makeScrollable(box, 'Table');
    table.replaceWith(box);
    box.append(table);
  }
}

export interface CodeFigure {
  element: HTMLElement;
  /** Where the text of the code goes. */
  code: HTMLElement;
}

/** An empty code block; its copy button is handled by the element that shows it. */
export function createCodeFigure(language: string): CodeFigure {
  const element = document.createElement('figure');
  element.className = 'code';
  const bar = document.createElement('figcaption');
  const name = document.createElement('span');
  name.textContent = language === '' ? 'text' : language;
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.className = 'quiet copy-code';
  copy.textContent = 'Copy';
  copy.setAttribute('aria-label', 'Copy code');
  bar.append(name, copy);
  const pre = document.createElement('pre');
  makeScrollable(pre, language === '' ? 'Code' : `Code, ${language}`);
  const code = document.createElement('code');
  pre.append(code);
  element.append(bar, pre);
  return { element, code };
}

/** Content wider than its box must be reachable by keyboard. */
function makeScrollable(element: HTMLElement, label: string): void {
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', label);
}
