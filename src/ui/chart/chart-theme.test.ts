import { expect } from 'chai';
import { readChartTheme } from './chart-theme.ts';

describe('readChartTheme', () => {
  let host: HTMLElement;

  beforeEach(() => {
    host = document.createElement('div');
    host.innerHTML = `<style>.probe { transition: color 10s !important }</style><span class="probe"></span>`;
    host.style.cssText = '--_ink: light-dark(rgb(1, 2, 3), rgb(4, 5, 6)); --_line: rgb(7, 8, 9); font-family: serif';
    document.body.append(host);
  });

  afterEach(() => host.remove());

  it('readChartTheme: colours are those of the scheme at once, also where a transition is on', () => {
    const probe = host.querySelector<HTMLElement>('.probe')!;
    host.style.colorScheme = 'light';
    expect(readChartTheme(probe).colour('ink')).to.equal('rgb(1, 2, 3)');
    host.style.colorScheme = 'dark';
    const theme = readChartTheme(probe);
    expect([theme.colour('ink'), theme.colour('line')]).to.deep.equal(['rgb(4, 5, 6)', 'rgb(7, 8, 9)']);
    expect(theme.font).to.equal('11px serif');
  });
});
