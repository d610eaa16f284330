import { expect } from 'chai';
import { cpuKernels, FLOP_PER_ROUND } from './cpu-kernels.ts';
import { probeCpu } from './cpu-probe.ts';

describe('cpuKernels', () => {
  it('cpuKernels: reads every word of memory, once a round', async () => {
    const { instance } = await WebAssembly.instantiate(cpuKernels(2));
    const { memory, read } = instance.exports as unknown as {
      memory: WebAssembly.Memory;
      read: (from: number, to: number, rounds: number) => number;
    };
    const words = new Uint32Array(memory.buffer);
    const bytes = words.byteLength;
    for (const at of [0, 4, 1000 * 4, words.length - 4]) {
      words.fill(0);
      // Lane 0 of every vector is what comes out.
      words[at] = 0x5eed;
      expect(read(0, bytes, 1), `word ${at}`).to.equal(0x5eed);
      expect(read(0, bytes, 2), 'twice').to.equal(0);
      expect(read(0, bytes, 3), 'three times').to.equal(0x5eed);
    }
  });

  it('cpuKernels: does the arithmetic of every chain', async () => {
    const { instance } = await WebAssembly.instantiate(cpuKernels(1));
    const { flop } = instance.exports as unknown as {
      flop: (rounds: number, scale: number, step: number) => number;
    };
    // x -> x / 2 + 1 four times from 0 is 1.875; eight chains.
    expect(flop(1, 0.5, 1)).to.equal(15);
    expect(flop(100, 0.5, 1)).to.be.closeTo(16, 1e-5);
    expect(FLOP_PER_ROUND).to.equal(4 * 8 * 4 * 2);
  });
});

describe('probeCpu', () => {
  it('probeCpu: bandwidth and arithmetic of two threads, with repeats and spread', async () => {
    const probe = await probeCpu({ threads: 2, targetMs: 10, bufferBytes: 2 ** 24, repeats: 3 });
    expect(probe).to.include({ device: 'cpu', threads: 2, bufferBytes: 2 ** 24 });
    for (const measured of [probe.readBytesPerSecond, probe.flopPerSecond.f32]) {
      expect(measured!.n).to.equal(3);
      expect(measured!.spread).to.be.at.least(0);
      expect(measured!.value).to.be.within(1e8, 1e13);
    }
    expect(probe.absent).to.have.property('dispatchMs');
  });

  it('probeCpu: runs in this thread where there are no workers', async () => {
    const probe = await probeCpu({ threads: 4, inline: true, targetMs: 5, bufferBytes: 2 ** 22, repeats: 1 });
    expect(probe.threads).to.equal(1);
    expect(probe.readBytesPerSecond!.value).to.be.above(0);
  });

  it('probeCpu: reads more than caches hold, and no more of a small device than it can spare', async () => {
    const bufferMiB = async (deviceMemory: number | undefined): Promise<number> => {
      Object.defineProperty(navigator, 'deviceMemory', { value: deviceMemory, configurable: true });
      try {
        return (await probeCpu({ inline: true, targetMs: 5, repeats: 1 })).bufferBytes / 2 ** 20;
      } finally {
        Reflect.deleteProperty(navigator, 'deviceMemory');
      }
    };
    expect([await bufferMiB(2), await bufferMiB(undefined), await bufferMiB(8)]).to.deep.equal([64, 128, 256]);
  });

  it('probeCpu: gives no number by a clock that is too coarse, and says so', async () => {
    let calls = 0;
    const clock = { now: () => Math.floor(calls++ / 1000) * 100 };
    const probe = await probeCpu({ inline: true, clock, bufferBytes: 2 ** 16 });
    expect(probe.readBytesPerSecond).to.equal(undefined);
    expect(probe.flopPerSecond).to.deep.equal({});
    expect(probe.absent.readBytesPerSecond).to.contain('steps of 100 ms');
  });
});
