import { expect } from 'chai';
import { NOT_STARVED, StarvedGpu } from './starved-gpu.ts';

const STORAGE = 0x80;
const COPY_SRC = 0x4;
const MAP_READ = 0x1;
const COPY_DST = 0x8;

describe('StarvedGpu', () => {
  let starved: StarvedGpu;
  let device: GPUDevice;
  let pipeline: GPUComputePipeline;
  let own: GPUBuffer;

  before(async () => {
    starved = new StarvedGpu(navigator.gpu, 2 ** 22);
    const adapter = await starved.gpu.requestAdapter();
    device = await adapter!.requestDevice();
    const code =
      '@group(0) @binding(0) var<storage, read_write> n: array<u32>; @compute @workgroup_size(1) fn main() { n[0] += 1u; }';
    const module = device.createShaderModule({ code });
    pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    own = device.createBuffer({ size: 4, usage: STORAGE | COPY_SRC });
  });
  after(() => device.destroy());
  beforeEach(() => {
    starved.starving = NOT_STARVED;
    starved.addedMs = 0;
  });

  async function wordOf(buffer: GPUBuffer): Promise<number> {
    const readback = device.createBuffer({ size: 4, usage: MAP_READ | COPY_DST });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, readback, 0, 4);
    device.queue.submit([encoder.finish()]);
    await readback.mapAsync(MAP_READ);
    const word = new Uint32Array(readback.getMappedRange())[0]!;
    readback.destroy();
    return word;
  }

  /** A pass of so many kernels, and what they and the added ones counted. */
  async function run(label: string, kernels: number): Promise<{ own: number; added: number }> {
    const { counter } = starved.device!.kernels.chain;
    const before = { own: await wordOf(own), added: await wordOf(counter) };
    const encoder = device.createCommandEncoder({ label });
    const pass = encoder.beginComputePass();
    for (let i = 0; i < kernels; i++) {
      pass.setPipeline(pipeline);
      const entries = [{ binding: 0, resource: { buffer: own } }];
      pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
    return { own: (await wordOf(own)) - before.own, added: (await wordOf(counter)) - before.added };
  }

  it('StarvedGpu: adds exactly the dispatches asked for to passes of steps, whatever their length', async () => {
    starved.starving = { ...NOT_STARVED, dispatches: 300 };
    for (const kernels of [7, 7, 34, 1, 3])
      expect(await run('step', kernels)).to.deep.equal({ own: kernels, added: 300 });
    starved.starving = { ...NOT_STARVED, dispatches: 2 };
    expect(await run('step', 5)).to.deep.equal({ own: 5, added: 2 });
  });

  it('StarvedGpu: leaves everything else alone', async () => {
    starved.starving = { hostMs: 5, waitMs: 0, dispatches: 300, reads: 1 };
    expect(await run('prefill', 4)).to.deep.equal({ own: 4, added: 0 });
    expect(starved.addedMs).to.equal(0);
    starved.starving = NOT_STARVED;
    expect(await run('step', 4)).to.deep.equal({ own: 4, added: 0 });
  });

  it('StarvedGpu: reads all of its buffer in the pass, as often as asked', async () => {
    const { read } = starved.device!.kernels;
    expect(read!.bytes).to.equal(2 ** 22);
    expect(starved.device!.readBytes).to.equal(2 ** 22);
    const sums: number[] = [];
    for (const reads of [1, 2]) {
      starved.starving = { ...NOT_STARVED, reads };
      expect((await run('step', 2)).own).to.equal(2);
      sums.push(await wordOf(read!.sums));
    }
    // A round more, another sum.
    expect(sums[0]).to.not.equal(0);
    expect(sums[1]).to.not.equal(sums[0]);
  });

  it('StarvedGpu: says how long delays really took', async () => {
    starved.starving = { ...NOT_STARVED, hostMs: 4 };
    await run('step', 1);
    expect(starved.addedMs).to.be.at.least(4);
    starved.addedMs = 0;
    starved.starving = { ...NOT_STARVED, waitMs: 4 };
    await run('step', 1); // four words are read
    expect(starved.addedMs).to.be.at.least(4 * 4 - 1);
  });
});
