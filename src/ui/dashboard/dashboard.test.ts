import { expect } from 'chai';
import type { DeviceProbe } from '../../runtime/metrics/probe/device-probe.ts';
import { TgChat } from '../chat/chat.ts';
import type { TgItlChart } from '../itl-chart/itl-chart.ts';
import type { TgRoofline } from '../roofline/roofline-chart.ts';
import type { TgStats } from '../stats/stats.ts';
import type { TgSteps } from '../steps/steps.ts';
import { seriousViolations } from '../testing/axe.ts';
import { countUpdates, quietFrames, until } from '../testing/counting.ts';
import { inBothSchemes, inside, mount, unmountAll } from '../testing/fixture.ts';
import { ScriptedEngine, type ScriptedAnswer } from '../testing/scripted-engine.ts';
import { DashboardModel } from './dashboard-model.ts';
import { TgDashboard } from './dashboard.ts';

const PROBE: DeviceProbe = {
  schema: 'tokenglass.probe/2',
  device: 'cpu',
  threads: 2,
  measuredAtMs: 0,
  tookMs: 1200,
  timerResolutionMs: 0.005,
  bufferBytes: 64e6,
  readBytesPerSecond: { value: 10e9, spread: 0.1, n: 5 },
  flopPerSecond: { f32: { value: 20e9, spread: 0.1, n: 5 } },
  absent: {},
};

async function dashboardWith(answer: ScriptedAnswer, set: Partial<TgDashboard> = {}) {
  const engine = new ScriptedEngine(() => answer);
  const chat = new TgChat();
  const dashboard = new TgDashboard();
  chat.engine = engine;
  Object.assign(dashboard, { measure: undefined, engine, source: chat, ...set });
  await mount(dashboard);
  await mount(chat);
  return { engine, chat, dashboard };
}

const stats = (dashboard: TgDashboard) => inside<TgStats>(dashboard, 'tg-stats').stats;
/** The parts that tests look into, by name. */
interface Parts {
  'tg-steps': TgSteps;
  'tg-itl-chart': TgItlChart;
  'tg-roofline': TgRoofline;
}
const part = <Name extends keyof Parts>(dashboard: TgDashboard, name: Name): Parts[Name] =>
  inside<Parts[Name]>(dashboard, name);

describe('TgDashboard', () => {
  afterEach(unmountAll);

  it('TgDashboard: an answer fills tiles, time line and distribution, each with the same counts', async () => {
    const { dashboard, chat } = await dashboardWith({ tokens: ['a', 'b', 'c', 'd'] });
    await chat.ask('x');
    await until(() => part(dashboard, 'tg-itl-chart').gapsMs.length === 3);
    await until(() => stats(dashboard).n === 3);
    expect(stats(dashboard).ttftMs).to.be.greaterThan(0);
    expect(stats(dashboard)).to.deep.include({ promptTokens: 24, cachedTokens: 0 });
    expect(part(dashboard, 'tg-steps').ticks).to.have.length(4);
    expect(part(dashboard, 'tg-itl-chart').of).to.equal('of 1 answer');
    await chat.ask('y');
    await until(() => part(dashboard, 'tg-itl-chart').of === 'of 2 answers');
    expect(part(dashboard, 'tg-itl-chart').gapsMs).to.have.length(6);
    expect(part(dashboard, 'tg-steps').ticks).to.have.length(4);
  });

  it('TgDashboard: while nothing changes, nothing is rendered and no canvas is drawn', async () => {
    const { dashboard, chat } = await dashboardWith({ tokens: ['a', 'b', 'c'] });
    await chat.ask('x');
    await until(() => part(dashboard, 'tg-steps').draws > 0);
    await quietFrames();
    const updates = countUpdates(dashboard);
    const drawn = () =>
      [...dashboard.renderRoot.querySelectorAll<TgSteps>('tg-steps, tg-itl-chart, tg-context-chart, tg-roofline')].map(
        ({ draws }) => draws,
      );
    const before = drawn();
    await quietFrames();
    expect(updates()).to.equal(0);
    expect(drawn()).to.deep.equal(before);
  });

  it('TgDashboard: a fast stream is drawn at its own pace, not once a token', async () => {
    const tokens = Array.from({ length: 400 }, () => 'a');
    const { dashboard, chat } = await dashboardWith({ tokens });
    const updates = countUpdates(dashboard);
    const startMs = performance.now();
    await chat.ask('x');
    await until(() => stats(dashboard).n === 399);
    const tookMs = performance.now() - startMs;
    expect(updates()).to.be.at.most(10 + tookMs / 75);
  });

  it('TgDashboard: another engine begins anew, and the old one is let go', async () => {
    const { dashboard, chat, engine } = await dashboardWith({ tokens: ['a', 'b', 'c'] }, { probe: PROBE });
    await chat.ask('x');
    await until(() => stats(dashboard).n === 2);
    const next = new ScriptedEngine(() => ({ tokens: [] }));
    dashboard.engine = next;
    await dashboard.updateComplete;
    expect([engine.listenerCount, next.listenerCount]).to.deep.equal([0, 2]);
    expect(stats(dashboard)).to.deep.include({ ttftMs: undefined, n: 0 });
    expect(part(dashboard, 'tg-itl-chart').gapsMs).to.deep.equal([]);
    expect(dashboard.probe).to.equal(undefined);
    dashboard.remove();
    expect(next.listenerCount).to.equal(0);
  });

  it('TgDashboard: measures the device on request, and draws its roof', async () => {
    const { dashboard, chat } = await dashboardWith(
      { tokens: ['a', 'b', 'c'] },
      { measure: async () => Promise.resolve(PROBE) },
    );
    await chat.ask('x');
    inside(dashboard, '.solid').click();
    await until(() => dashboard.probe === PROBE);
    await dashboard.updateComplete;
    expect(part(dashboard, 'tg-roofline').peaks).to.deep.include({
      bytesPerSecond: 10e9,
      flopPerSecond: 20e9,
    });
    expect(dashboard.renderRoot.textContent).to.match(/Measured here in 1[.,]2 s: 10 GB\/s ± 5 %/);
    expect(dashboard.renderRoot.textContent).not.to.include('measure again');
    dashboard.probe = { ...PROBE, readBytesPerSecond: { value: 10e9, spread: 0.9, n: 5 } };
    await dashboard.updateComplete;
    expect(dashboard.renderRoot.textContent).to.include('± 45 %').and.to.include('measure again');
  });

  it('TgDashboard: who measures by keyboard keeps the focus, and a second press does nothing', async () => {
    let measured = 0;
    let end: (probe: DeviceProbe) => void = () => undefined;
    const measure = async () => {
      measured += 1;
      return new Promise<DeviceProbe>((resolve) => (end = resolve));
    };
    const { dashboard } = await dashboardWith({ tokens: [] }, { measure });
    const button = inside<HTMLButtonElement>(dashboard, '.solid');
    button.focus();
    for (let press = 0; press < 2; press += 1) {
      button.click();
      await dashboard.updateComplete;
    }
    expect(button.getAttribute('aria-disabled')).to.equal('true');
    expect(button.textContent).to.include('Measuring');
    await quietFrames();
    expect(dashboard.renderRoot).to.have.property('activeElement', button);
    end(PROBE);
    await until(() => button.getAttribute('aria-disabled') === 'false');
    expect(measured).to.equal(1);
    expect(dashboard.renderRoot).to.have.property('activeElement', button);
  });

  it('TgDashboard: a probe that fails is told of', async () => {
    const { dashboard } = await dashboardWith(
      { tokens: [] },
      { measure: async () => Promise.reject(new RangeError('Cannot measure')) },
    );
    inside(dashboard, '.solid').click();
    await until(() => dashboard.renderRoot.querySelector('[role=alert]') !== null);
    expect(inside(dashboard, '[role=alert]').textContent).to.include('Cannot measure');
  });

  it('TgDashboard: the verdict is announced once an answer', async () => {
    const { dashboard, chat } = await dashboardWith({ tokens: ['a', 'b', 'c'] });
    const said: string[] = [];
    const status = [...dashboard.renderRoot.querySelectorAll('[role=status]')].at(-1)!;
    const observer = new MutationObserver(() => said.push(status.textContent.trim()));
    observer.observe(status, { childList: true, characterData: true, subtree: true });
    await chat.ask('x');
    await quietFrames();
    observer.disconnect();
    expect(said.filter((words) => words !== '')).to.have.length(1);
  });

  it('TgDashboard: exports what was recorded as a trace', async () => {
    const { dashboard, chat } = await dashboardWith({ tokens: ['a', 'b', 'c'] });
    await chat.ask('x');
    const { traceEvents, otherData } = dashboard.exportTrace();
    const categories = traceEvents.flatMap((event) => (event.ph === 'X' ? [event.cat] : []));
    for (const wanted of ['request', 'prefill', 'decode', 'token', 'delivery'])
      expect(categories, wanted).to.include(wanted);
    expect(otherData).to.have.property('model');
  });

  it('TgDashboard: before and after an answer, axe finds nothing serious', async () => {
    const { dashboard, chat } = await dashboardWith(
      { tokens: ['a', 'b', 'c'] },
      { measure: async () => Promise.resolve(PROBE) },
    );
    await inBothSchemes(async () => expect(await seriousViolations(dashboard)).to.deep.equal([]));
    dashboard.probe = PROBE;
    await chat.ask('x');
    await until(() => part(dashboard, 'tg-steps').draws > 0);
    await inBothSchemes(async () => expect(await seriousViolations(dashboard)).to.deep.equal([]));
  });
});

describe('DashboardModel', () => {
  it('DashboardModel: an hour of tokens takes bounded room', () => {
    const model = new DashboardModel();
    for (let at = 0; at < 100_000; at += 1) {
      if (at % 500 === 0) model.onCall();
      model.onStep({
        kind: at % 500 === 0 ? 'prefill' : 'decode',
        startedAtMs: at * 30,
        timing: { totalMs: 30 },
        batch: 1,
        tokens: 1,
        contextTokens: at % 500,
      });
      model.onTokens([{ id: 1, atMs: (at + 1) * 30 }], (at + 1) * 30);
      if (at % 500 === 499) {
        const tokenTimesMs = Array.from({ length: 500 }, (_, token) => (at - 499 + token) * 30);
        model.onEnd(
          {
            requestId: `r${at}`,
            marks: { calledMs: 0 },
            usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 500 },
            tokenTimesMs,
            hidden: false,
          },
          'completed',
        );
      }
    }
    expect(model.log.stepCount).to.equal(4096);
    expect(model.gaps().gapsMs).to.have.length(4096);
    expect(model.gaps().of).to.equal('of 200 answers; the latest 4096');
    expect(model.ticks(undefined)).to.have.length(500);
    expect(model.contextSamples().length).to.be.at.most(1024);
  });

  it('DashboardModel: an answer of a hidden page is left out, and that is said', () => {
    const model = new DashboardModel();
    model.onCall();
    model.onEnd(
      {
        requestId: 'a',
        marks: { calledMs: 0 },
        usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 3 },
        tokenTimesMs: [0, 10, 9000],
        hidden: true,
      },
      'completed',
    );
    expect(model.gaps()).to.deep.equal({ gapsMs: [], of: 'of 0 answers; 1 left out because the page was hidden' });
  });
});
