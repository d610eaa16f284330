import { expect } from 'chai';
import type { LitElement } from 'lit';
import * as dashboard from './dashboard/index.ts';
import * as elements from './index.ts';
import { mount, unmountAll } from './testing/fixture.ts';

const isElement = (value: unknown): value is new () => LitElement =>
  typeof value === 'function' && value.prototype instanceof HTMLElement;

describe('elements', () => {
  afterEach(unmountAll);

  it('elements: no default becomes an attribute, which a page that was rendered on a server would not have', async () => {
    const exported: unknown[] = [...Object.values(elements), ...Object.values(dashboard)];
    const classes = exported.filter(isElement);
    expect(classes).to.have.length.greaterThan(20);
    for (const Class of classes) {
      const element = await mount(new Class());
      expect(element.getAttributeNames(), element.localName).to.deep.equal([]);
    }
  });

  it('TgOverlay: without an attribute it is in the bottom right corner, which it goes back to when the attribute goes', async () => {
    const overlay = await mount(new elements.TgOverlay());
    const corner = () => {
      const { right, bottom } = overlay.getBoundingClientRect();
      return { right: innerWidth - right, bottom: innerHeight - bottom };
    };
    expect(corner()).to.deep.equal({ right: 12, bottom: 12 });
    overlay.setAttribute('placement', 'top-left');
    await overlay.updateComplete;
    expect(overlay.getBoundingClientRect().top).to.equal(12);
    overlay.removeAttribute('placement');
    await overlay.updateComplete;
    expect(overlay.placement).to.equal('bottom-right');
    expect(corner()).to.deep.equal({ right: 12, bottom: 12 });
  });
});
