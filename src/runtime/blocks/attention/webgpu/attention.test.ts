import { expect } from 'chai';
import { f16ToNumber, numberToF16 } from '../../../models/gguf/f16.ts';
import type { GpuContext } from '../../../backends/webgpu/device.ts';
import { StepWriter, stepLayout } from '../../../backends/webgpu/step-layout.ts';
import { farthest, onDevice, readFloats, runDispatches, seededVector } from '../../../backends/webgpu/testing/gpu.ts';
import { KernelCompiler, type Dispatch } from '../../../backends/webgpu/kernels/pipeline.ts';
import * as attention from './attention.ts';

/** Keys and values are rounded to f16 in the reference too, so that only the order of sums differs. */
const TOLERANCE = { rtol: 1e-3, atol: 2e-4 };
const EPSILON = 1e-6;

interface Shape {
  heads: number;
  kvHeads: number;
  headDim: number;
  /** Tokens of the sequence; the last one is decoded, those before come in one chunk. */
  tokens: number;
  interleaved?: boolean;
  pairs?: number;
  qkNorm?: boolean;
  window?: number;
  /** Tokens of a split in decode. @default one split */
  splitTokens?: number;
}

/** Attention of every token as plain loops: norm, rotation, causal softmax. */
function reference(
  shape: Shape,
  qkv: Float32Array,
  norms: Float32Array,
  rope: Float32Array,
  scale: number,
): Float32Array {
  const { heads, kvHeads, headDim: d, tokens, pairs = d / 2 } = shape;
  const stride = (heads + 2 * kvHeads) * d;
  const prepare = (token: number, head: number): Float64Array => {
    const at = token * stride + head * d;
    let x = Float64Array.from(qkv.subarray(at, at + d));
    if (shape.qkNorm) {
      const factor = 1 / Math.sqrt(x.reduce((sum, v) => sum + v * v, 0) / d + EPSILON);
      x = x.map((v, i) => v * factor * norms[(head < heads ? 0 : d) + i]!);
    }
    const turned = Float64Array.from(x);
    for (let pair = 0; pair < pairs; pair++) {
      const [a, b] = shape.interleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + pairs];
      const [cos, sin] = [rope[(token * pairs + pair) * 2]!, rope[(token * pairs + pair) * 2 + 1]!];
      turned[a] = x[a]! * cos - x[b]! * sin;
      turned[b] = x[a]! * sin + x[b]! * cos;
    }
    return turned;
  };
  const round = (v: number) => f16ToNumber(numberToF16(v));
  const out = new Float32Array(tokens * heads * d);
  for (let head = 0; head < heads; head++) {
    const kv = Math.floor(head / (heads / kvHeads));
    const keys = Array.from({ length: tokens }, (_, t) => prepare(t, heads + kv).map(round));
    for (let token = 0; token < tokens; token++) {
      const query = prepare(token, head);
      const first = shape.window === undefined ? 0 : Math.max(0, token + 1 - shape.window);
      const scores: number[] = [];
      for (let t = first; t <= token; t++) scores.push(scale * query.reduce((sum, v, i) => sum + v * keys[t]![i]!, 0));
      const most = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - most));
      const mass = weights.reduce((a, b) => a + b);
      for (let i = 0; i < d; i++) {
        let sum = 0;
        for (const [n, weight] of weights.entries()) {
          sum += weight * round(qkv[(first + n) * stride + (heads + kvHeads + kv) * d + i]!);
        }
        out[(token * heads + head) * d + i] = sum / mass;
      }
    }
  }
  return out;
}

async function check(gpu: GpuContext, shape: Shape): Promise<void> {
  const { heads, kvHeads, headDim, tokens, pairs = headDim / 2, interleaved = false } = shape;
  const { device, memory } = gpu;
  const stride = (heads + 2 * kvHeads) * headDim;
  const maxBlocks = Math.ceil(tokens / attention.KV_BLOCK) + 1;
  const layout = stepLayout({ maxSamples: 1, maxStepTokens: tokens + 8, slots: 2, maxBlocks });
  const spec: attention.AttentionSpec = {
    heads,
    kvHeads,
    headDim,
    qkvStride: stride,
    outStride: heads * headDim,
    scale: 1 / Math.sqrt(headDim),
    rope: { pairs, interleaved },
    ...(shape.qkNorm && { qkNorm: { epsilon: EPSILON } }),
    ...(shape.window !== undefined && { window: shape.window }),
    ...layout,
  };
  const qkv = seededVector(1, tokens * stride, 2);
  const norms = seededVector(2, 2 * headDim).map((v) => 1 + v / 2);
  const rope = new Float32Array(tokens * pairs * 2);
  for (let i = 0; i < tokens * pairs; i++) rope.set([Math.cos(i * 0.7), Math.sin(i * 0.7)], i * 2);
  const buffer = (label: string, data: Float32Array) => memory.create(label, data.byteLength, { data });
  const step = memory.create('step', layout.words * 4);
  const kvBytes = (maxBlocks + 3) * attention.KV_BLOCK * kvHeads * headDim * 2;
  const buffers = {
    qkv: buffer('qkv', qkv),
    keys: memory.create('keys', kvBytes),
    values: memory.create('values', kvBytes),
    step,
    rope: buffer('rope', rope),
    out: memory.create('out', tokens * heads * headDim * 4),
    ...(shape.qkNorm && { headNorm: buffer('norms', norms) }),
  };
  const compiler = new KernelCompiler(device);
  const [rotate, many] = await Promise.all([
    compiler.compile(attention.rotateKernel(spec)),
    compiler.compile(attention.attendManyKernel(spec, gpu.abilities)),
  ]);
  const writer = new StepWriter(layout);
  // Blocks in an order of their own, in the second slot.
  for (let i = 0; i < maxBlocks; i++) writer.setBlock(1, i, (i * 2 + 1) % maxBlocks === i ? i : maxBlocks - 1 - i);
  const tileRows = attention.queriesPerTile(headDim);
  const before = tokens - 1;
  let tiles = 0;
  for (let at = 0; at < before; at += tileRows) writer.setTile(tiles++, at, Math.min(tileRows, before - at));
  for (let row = 0; row < before; row++) writer.setRow(row, { token: 0, position: row, slot: 1 });
  writer.setHeader(before, 0, 1, 0);
  writer.write(device.queue, step, { rows: before, tiles, runs: 0 });
  const atCount = (dispatch: Dispatch, y: number): Dispatch => ({ ...dispatch, y });
  runDispatches(device, [
    atCount(attention.bindRotate(device, rotate, spec, buffers), before),
    atCount(attention.bindAttendMany(device, many, spec, buffers), tiles),
  ]);
  const expected = reference(shape, qkv, norms, rope, spec.scale);
  const rowWords = heads * headDim;
  const name = JSON.stringify(shape);
  const chunk = (await readFloats(device, buffers.out)).subarray(0, before * rowWords);
  expect(farthest(chunk, expected.subarray(0, before * rowWords), TOLERANCE), `chunk ${name}`).to.equal(undefined);

  // Decode of the last token, whose row is the first of the step.
  const last = memory.create('last', stride * 4, { data: qkv.slice(before * stride) });
  const one = { ...buffers, qkv: last };
  writer.setRow(0, { token: 0, position: before, slot: 1 });
  const splitTokens = shape.splitTokens ?? Math.ceil(tokens / 32) * 32;
  const splits = Math.ceil(tokens / splitTokens);
  writer.setHeader(1, splitTokens, splits, 1);
  writer.write(device.queue, step, { rows: 1, tiles: 0, runs: 0 });
  if (splits === 1) {
    const kernel = await compiler.compile(attention.attendOneKernel(spec, false, gpu.abilities));
    runDispatches(device, [attention.bindAttendOne(device, kernel, spec, one)]);
  } else {
    const parts = memory.create('parts', attention.splitWords(spec, splits) * 4);
    const kernel = await compiler.compile(attention.attendOneKernel(spec, true, gpu.abilities));
    const merge = await compiler.compile(attention.attendMergeKernel(spec));
    runDispatches(device, [
      { ...attention.bindAttendOne(device, kernel, spec, { ...one, out: parts }), x: splits },
      attention.bindAttendMerge(device, merge, spec, { parts, out: buffers.out, step, qkv: buffers.qkv }),
    ]);
  }
  const decoded = (await readFloats(device, buffers.out)).subarray(0, rowWords);
  expect(farthest(decoded, expected.subarray(before * rowWords), TOLERANCE), `decode ${name}`).to.equal(undefined);
}

describe('attention kernels', () => {
  it('attend: grouped heads with interleaved rotation match plain loops', () =>
    onDevice((gpu) => check(gpu, { heads: 6, kvHeads: 2, headDim: 64, tokens: 45, interleaved: true })));

  it('attend: heads of 8, and a context just past a block, match plain loops', () =>
    onDevice((gpu) => check(gpu, { heads: 2, kvHeads: 2, headDim: 8, tokens: 33 })));

  it('attend: head norms, heads of 256 and a window match plain loops', () =>
    onDevice((gpu) => check(gpu, { heads: 2, kvHeads: 1, headDim: 256, tokens: 50, qkNorm: true, window: 19 })));

  it('attend: heads of 96, rotated in part, match plain loops', () =>
    onDevice((gpu) => check(gpu, { heads: 2, kvHeads: 2, headDim: 96, pairs: 24, tokens: 40 })));

  it('attend: workgroups as large as on hardware match plain loops', () =>
    onDevice(async (gpu) => {
      const hardware = { ...gpu, abilities: { ...gpu.abilities, unroll: true } };
      await check(hardware, { heads: 4, kvHeads: 2, headDim: 32, tokens: 70, qkNorm: true, window: 40 });
      await check(hardware, { heads: 2, kvHeads: 1, headDim: 96, tokens: 300, splitTokens: 256 });
    }));

  it('attend: a context in several splits, some of them before the window, matches plain loops', () =>
    onDevice(async (gpu) => {
      const shape = { heads: 4, kvHeads: 2, headDim: 16, tokens: 300, splitTokens: 64 };
      await check(gpu, shape);
      await check(gpu, { ...shape, window: 70 });
    }));
});
