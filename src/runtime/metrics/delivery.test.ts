import { expect } from 'chai';
import { DeliveryLog, deliveryMs, pageStalls } from './delivery.ts';

function delivered(...times: readonly (readonly [tokenMs: number, deliveredMs: number])[]) {
  let nowMs = 0;
  const log = new DeliveryLog({ now: () => nowMs });
  for (const [atMs, deliveredAtMs] of times) {
    nowMs = deliveredAtMs;
    log.delta('r', [{ atMs }]);
  }
  return log.deliveries;
}

describe('DeliveryLog', () => {
  it('DeliveryLog: stamps deltas in the page, and not those without tokens', () => {
    const log = new DeliveryLog({ now: () => 30 }, 2);
    log.delta('r', []);
    for (const atMs of [10, 20, 31]) log.delta('r', [{ atMs: atMs - 5 }, { atMs }]);
    expect(log.deliveries).to.deep.equal([
      { requestId: 'r', tokenMs: 20, deliveredMs: 30, tokens: 2 },
      { requestId: 'r', tokenMs: 31, deliveredMs: 30, tokens: 2 },
    ]);
    expect(log.deliveries.map(deliveryMs)).to.deep.equal([10, 0]);
  });

  it('pageStalls: a page that was busy for 500 ms is one stall, with the tokens that waited', () => {
    // A token every 100 ms; the page is busy from 250 to 750.
    const deliveries = delivered([100, 101], [200, 201], [300, 750], [400, 750], [500, 751], [800, 801], [900, 960]);
    expect(pageStalls(deliveries)).to.deep.equal([
      { fromMs: 300, toMs: 751, waitedMs: 450, tokens: 3 },
      { fromMs: 900, toMs: 960, waitedMs: 60, tokens: 1 },
    ]);
    expect(pageStalls(deliveries, 100)).to.have.length(1);
    expect(pageStalls([])).to.deep.equal([]);
  });
});
