import { expect } from 'chai';
import { systemClock } from './clock.ts';
import { wasPageHidden } from './page-hidden.ts';
import { hidePage } from './testing/hide-page.ts';

describe('wasPageHidden', () => {
  it('wasPageHidden: true while the page is hidden, and later for what had begun before it was seen again', () => {
    const sinceMs = systemClock.now();
    expect(wasPageHidden(sinceMs)).to.equal(false);
    const show = hidePage();
    expect(wasPageHidden()).to.equal(true);
    show();
    expect(wasPageHidden(sinceMs)).to.equal(true);
    expect(wasPageHidden()).to.equal(false);
    expect(wasPageHidden(systemClock.now() + 1)).to.equal(false);
  });
});
