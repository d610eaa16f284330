import { expect } from 'chai';
import { callsPerToken, countGpuCalls } from './gpu-calls.ts';

describe('countGpuCalls', () => {
  it('countGpuCalls: counts what a device is asked, in the page, and leaves the API as it was', async () => {
    const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
    const original = GPUQueue.prototype.submit;
    const counter = countGpuCalls();
    const before = counter.read();
    const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
    device.queue.writeBuffer(buffer, 0, new Uint32Array(4));
    device.queue.submit([]);
    device.queue.submit([]);
    await buffer.mapAsync(GPUMapMode.READ);
    const perToken = callsPerToken(before, counter.read(), 2);
    counter.uninstall();
    device.queue.submit([]);
    expect(perToken).to.deep.include({ createBuffer: 0.5, writeBuffer: 0.5, submits: 1, mapAsync: 0.5, dispatches: 0 });
    expect(GPUQueue.prototype.submit).to.equal(original);
    device.destroy();
  });

  it('countGpuCalls: does nothing where there is no WebGPU', () => {
    const counter = countGpuCalls({});
    expect(counter.read().dispatches).to.equal(0);
    counter.uninstall();
  });
});
