import { expect } from 'chai';
import { callsPerToken, countGpuCalls } from './gpu-calls.ts';

// GPUBufferUsage.COPY_DST | GPUMapMode.READ: TypeScript's DOM library has no such constants.
const COPY_DST_AND_MAP_READ = 0x8 | 0x1;
const MAP_READ = 1;

/** The method that is in place, without calling it. */
const submitInPlace = (): unknown => Reflect.get(GPUQueue.prototype, 'submit');

describe('countGpuCalls', () => {
  it('countGpuCalls: counts what a device is asked, in the page, and leaves the API as it was', async () => {
    const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
    const original = submitInPlace();
    const counter = countGpuCalls();
    const before = counter.read();
    const buffer = device.createBuffer({ size: 16, usage: COPY_DST_AND_MAP_READ });
    device.queue.writeBuffer(buffer, 0, new Uint32Array(4));
    device.queue.submit([]);
    device.queue.submit([]);
    await buffer.mapAsync(MAP_READ);
    const perToken = callsPerToken(before, counter.read(), 2);
    counter.uninstall();
    device.queue.submit([]);
    expect(perToken).to.deep.include({ createBuffer: 0.5, writeBuffer: 0.5, submits: 1, mapAsync: 0.5, dispatches: 0 });
    expect(submitInPlace()).to.equal(original);
    device.destroy();
  });

  it('countGpuCalls: does nothing where there is no WebGPU', () => {
    const counter = countGpuCalls({});
    expect(counter.read().dispatches).to.equal(0);
    counter.uninstall();
  });
});
