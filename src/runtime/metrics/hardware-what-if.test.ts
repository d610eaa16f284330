import { expect } from 'chai';
import { DEVICES, findDevice, type DeviceSpec } from './devices.ts';
import { decodeOn, EXAMPLE_MODELS, prefillOn, type WhatIfSetup } from './hardware-what-if.ts';
import { findPrecision, PRECISIONS, weightBytesOf } from './precision.ts';

const device = (id: string): DeviceSpec => findDevice(id)!;
const on = (id: string, more: Partial<WhatIfSetup> = {}): WhatIfSetup => ({
  device: device(id),
  precision: 'f16',
  ...more,
});

describe('decodeOn', () => {
  it('decodeOn: 8B in f16 on one A100-80G is memory-bound at 8 to 10 ms a token', () => {
    const step = decodeOn({ ...EXAMPLE_MODELS.llama3_8b, parameters: 8e9 }, on('a100-80g'));
    expect(step.weightBytes).to.equal(16e9);
    expect(step.boundBy).to.equal('memory');
    expect(step.stepMs).to.be.within(7.8, 10);
    expect(step.computeMs).to.be.below(0.1);
    expect(step.fits).to.equal(true);
    // Rounded to 2.0 TB/s, 16 GB take 8 ms.
    const rounded = decodeOn(
      EXAMPLE_MODELS.llama3_8b,
      on('a100-80g', { device: { ...device('a100-80g'), memoryGBps: 2000 } }),
    );
    expect(rounded.stepMs).to.be.within(8, 10);
    expect(decodeOn(EXAMPLE_MODELS.llama3_8b, on('a100-80g', { efficiency: 0.8 })).stepMs).to.be.within(9.5, 10.5);
  });

  it('decodeOn: INT4 divides the bytes of the weights, and so the floor, by about 4', () => {
    const f16 = decodeOn(EXAMPLE_MODELS.llama3_8b, on('a100-80g'));
    const int4 = decodeOn(EXAMPLE_MODELS.llama3_8b, on('a100-80g', { precision: 'int4' }));
    expect(f16.weightBytes / int4.weightBytes).to.be.within(3.8, 4);
    expect(f16.stepMs! / int4.stepMs!).to.be.within(3.8, 4);
    expect(weightBytesOf(1e9, 'f16') / weightBytesOf(1e9, 'q4_0')).to.be.closeTo(16 / 4.5, 1e-9);
  });

  it('decodeOn: 70B in f16 takes more than one card, and runs on eight', () => {
    const one = decodeOn(EXAMPLE_MODELS.llama3_70b, on('a100-80g'));
    expect(one.fits).to.equal(false);
    const eight = decodeOn(EXAMPLE_MODELS.llama3_70b, on('a100-80g', { cards: 8 }));
    expect(eight.fits).to.equal(true);
    expect(eight.memoryMs).to.be.closeTo(one.memoryMs / 8, 1e-9);
    // 141 GB over 16.3 TB/s are 8.7 ms; 160 all-reduces of 10 us 1.6 ms.
    expect(eight.memoryMs).to.be.closeTo(8.66, 0.01);
    expect(eight.communicationMs).to.be.within(1.6, 1.7);
    expect(eight.stepMs).to.be.closeTo(eight.memoryMs + eight.communicationMs, 1e-9);
  });

  it('decodeOn: a faster memory is a faster token, in proportion', () => {
    const ratio =
      decodeOn(EXAMPLE_MODELS.llama3_8b, on('a100-80g')).stepMs! /
      decodeOn(EXAMPLE_MODELS.llama3_8b, on('h200')).stepMs!;
    expect(ratio).to.be.closeTo(4800 / 2039, 1e-9);
  });

  it('decodeOn: a batch shares the weights, until arithmetic decides', () => {
    const few = decodeOn(EXAMPLE_MODELS.llama3_8b, on('h100', { batch: 16 }));
    expect(few.stepMs).to.be.closeTo(decodeOn(EXAMPLE_MODELS.llama3_8b, on('h100')).stepMs!, 1e-9);
    expect(few.tokensPerSecond).to.be.closeTo(16_000 / few.stepMs!, 1e-6);
    expect(decodeOn(EXAMPLE_MODELS.llama3_8b, on('h100', { batch: 512 })).boundBy).to.equal('compute');
    const long = decodeOn(EXAMPLE_MODELS.llama3_8b, on('h100', { batch: 16, contextTokens: 8000 }));
    // 16 x 8000 tokens of 128 KiB are 16.8 GB of KV, as much as the weights.
    expect(long.memoryMs / few.memoryMs).to.be.closeTo(2.04, 0.01);
  });

  it('prefillOn: a long prompt is compute-bound', () => {
    const step = prefillOn(EXAMPLE_MODELS.llama3_8b, on('a100-80g'), 2000);
    expect(step.boundBy).to.equal('compute');
    // 2000 x 2 x 8.03 GFLOP and attention on 312 TFLOP/s.
    expect(step.stepMs).to.be.within(103, 108);
  });

  it('prefillOn: where no rate of arithmetic is published there is no forecast, but the memory side', () => {
    const step = prefillOn(EXAMPLE_MODELS.llama3_8b, on('apple-m4-max', { precision: 'q4_0' }), 2000);
    expect(step).to.not.have.any.keys('stepMs', 'computeMs', 'boundBy', 'tokensPerSecond');
    expect(step.memoryMs).to.be.above(8);
    expect(decodeOn(EXAMPLE_MODELS.llama3_8b, on('apple-m4-max', { precision: 'q4_0' })).stepMs).to.be.closeTo(
      8.27,
      0.01,
    );
  });

  it('decodeOn: nor for a batch so large that arithmetic may decide', () => {
    const many = decodeOn(EXAMPLE_MODELS.llama3_8b, on('apple-m4-max', { precision: 'q4_0', batch: 64 }));
    expect(many).to.not.have.any.keys('stepMs', 'boundBy', 'tokensPerSecond');
    const few = decodeOn(EXAMPLE_MODELS.llama3_8b, on('apple-m4-max', { precision: 'q4_0', batch: 4 }));
    expect(few).to.include({ boundBy: 'memory' });
    // Where the rate is known, memory still decides there.
    for (const device of DEVICES.filter(({ tflops }) => tflops.f32 !== undefined))
      expect(decodeOn(EXAMPLE_MODELS.llama3_8b, { device, precision: 'int4', batch: 6 }).boundBy, device.id).to.equal(
        'memory',
      );
  });

  it('decodeOn: refuses what makes no sense', () => {
    for (const bad of [{ cards: 0 }, { batch: 0 }, { efficiency: 0 }, { efficiency: 1.1 }])
      expect(() => decodeOn(EXAMPLE_MODELS.llama3_8b, on('h100', bad))).to.throw(RangeError);
    expect(() => findPrecision('int2' as never)).to.throw(RangeError);
    expect(PRECISIONS.map(({ id }) => findPrecision(id).id)).to.have.length(6);
  });
});

describe('DEVICES', () => {
  it('DEVICES: each has a name of its own, a source and sensible numbers', () => {
    expect(new Set(DEVICES.map(({ id }) => id)).size).to.equal(DEVICES.length);
    for (const { id, source, memoryGBps, memoryGB, tflops } of DEVICES) {
      expect(source.length, id).to.be.above(10);
      expect(memoryGBps, id).to.be.within(30, 10_000);
      expect(memoryGB, id).to.be.within(4, 1000);
      // Twice the rate for half the bits, at least, where both are told.
      if (tflops.f16 !== undefined) expect(tflops.f16, id).to.be.at.least(1.9 * tflops.f32!);
      if (tflops.int8 !== undefined) expect(tflops.int8, id).to.be.at.least(1.9 * tflops.f16!);
    }
    expect(findDevice('abacus')).to.equal(undefined);
  });

  it('DEVICES: the numbers of the latency literature', () => {
    expect(device('a100-80g')).to.deep.include({ memoryGBps: 2039, tflops: { f32: 19.5, f16: 312, int8: 624 } });
    expect(device('h100').memoryGBps).to.equal(3350);
    expect(device('h100').tflops.f16).to.equal(989);
    expect(device('h200').memoryGBps).to.equal(4800);
    expect(device('rtx-4090')).to.deep.include({ memoryGBps: 1008 });
    expect(device('rtx-4090').tflops.f16).to.equal(165.2);
  });
});
