import { expect } from 'chai';
import { leaveBreadcrumb, takeInterruptedLoads } from './breadcrumb.ts';
import { createTestStore } from '../models/testing/test-store.ts';

describe('leaveBreadcrumb', () => {
  it('leaveBreadcrumb: a load that goes on or has ended is not told as interrupted', async () => {
    const store = createTestStore();
    const breadcrumb = await leaveBreadcrumb(store, 'hf:big');
    breadcrumb.note(1e9);
    expect(await takeInterruptedLoads(store)).to.deep.equal([]);
    await breadcrumb.remove();
    breadcrumb.note(2e9);
    expect(await takeInterruptedLoads(store)).to.deep.equal([]);
    await store.destroy();
  });

  it('takeInterruptedLoads: tells once what a killed worker was loading, and names a smaller model', async () => {
    const store = createTestStore();
    const worker = new Worker(new URL('../models/testing/download-worker.ts', import.meta.url), { type: 'module' });
    await new Promise((resolve) => {
      worker.onmessage = resolve;
      worker.postMessage({ task: 'breadcrumb', databaseName: store.databaseName, model: 'org/big' });
    });
    expect(await takeInterruptedLoads(store)).to.deep.equal([]);
    worker.terminate();
    // The browser releases the locks of a worker some time after its death.
    while ((await store.internals.heldLockNames()).size > 0) await new Promise((resolve) => setTimeout(resolve));
    expect(await takeInterruptedLoads(store, 'other')).to.deep.equal([]);
    const [left, ...others] = await takeInterruptedLoads(store);
    expect(left).to.include({ model: 'org/big', smallerModel: 'smollm2-360m' });
    expect(others).to.deep.equal([]);
    expect(await takeInterruptedLoads(store)).to.deep.equal([]);
    await store.destroy();
  });
});
