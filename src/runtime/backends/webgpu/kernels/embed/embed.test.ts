import { expect } from 'chai';
import type { GpuContext } from '../../device.ts';
import { farthest, onDevice, readFloats, runDispatches } from '../../testing/gpu.ts';
import { testMatrix } from '../../testing/matrix.ts';
import type { WeightFormat } from '../../../weights/unit-formats.ts';
import { KernelCompiler } from '../pipeline.ts';
import { bindEmbed, embedKernel, type EmbedSpec } from './embed.ts';

/** A product and a sum a value, both rounded. */
const TOLERANCE = { rtol: 1e-6, atol: 1e-6 };
const VOCABULARY = 24;
const ROWS_AT = 8;
/** Set in the step for a row whose token is the latest one of a slot. */
const FROM_SLOT = 0x80000000;

/** Embeds `sources` through a matrix in parts of the vocabulary that begin at `starts`; expects the rows of `tokens`. */
async function check(
  { device, memory, abilities }: GpuContext,
  format: WeightFormat,
  cols: number,
  {
    sources,
    tokens,
    latest = [0],
    starts = [0],
  }: { sources: number[]; tokens: number[]; latest?: number[]; starts?: number[] },
): Promise<void> {
  const xStride = Math.ceil(cols / 32) * 32;
  const scale = 1.5;
  const words = new Uint32Array(ROWS_AT + sources.length * 4);
  for (const [row, source] of sources.entries()) words[ROWS_AT + row * 4] = source;
  const buffer = (label: string, data: Float32Array | Uint32Array) => memory.create(label, data.byteLength, { data });
  const bound = {
    x: buffer('x', new Float32Array(sources.length * xStride)),
    step: buffer('step', words),
    tokens: buffer('tokens', Uint32Array.from(latest)),
  };
  const compiler = new KernelCompiler(device);
  const table: Float32Array[] = [];
  for (const [part, from] of starts.entries()) {
    const rows = (starts[part + 1] ?? VOCABULARY) - from;
    const matrix = testMatrix(memory, format, rows, cols, part + 1);
    for (let row = 0; row < rows; row++) table.push(matrix.values.slice(row * cols, (row + 1) * cols));
    const spec: EmbedSpec = { format, rows, from, vocabulary: VOCABULARY, cols, xStride, scale, rowsAt: ROWS_AT };
    const kernel = await compiler.compile(embedKernel(spec, abilities));
    runDispatches(device, [bindEmbed(device, kernel, spec, matrix.device, bound, sources.length)]);
  }
  const x = await readFloats(device, bound.x);
  for (const [row, token] of tokens.entries()) {
    const expected = table[token]!.map((value) => value * scale);
    const actual = x.subarray(row * xStride, row * xStride + cols);
    expect(farthest(actual, expected, TOLERANCE), `${format}, row ${row}`).to.equal(undefined);
  }
}

describe('embed kernel', () => {
  it('embed: rows of tokens in every format, scaled', () =>
    onDevice(async (gpu) => {
      const tokens = [5, 0, 23, 5];
      for (const format of ['int4', 'int4m', 'int8', 'int8m'] as const)
        await check(gpu, format, 96, { sources: tokens, tokens });
      for (const format of ['f16', 'bf16', 'f32'] as const) await check(gpu, format, 172, { sources: tokens, tokens });
    }));

  it('embed: a row may take the latest token of a slot', () =>
    onDevice((gpu) =>
      check(gpu, 'int4', 64, {
        sources: [(FROM_SLOT | 2) >>> 0, 7, FROM_SLOT],
        tokens: [21, 7, 3],
        latest: [3, 9, 21],
      }),
    ));

  it('embed: a matrix in parts gives the rows of a whole one', () =>
    onDevice((gpu) =>
      check(gpu, 'int8', 64, { sources: [7, 8, 15, 16, 23], tokens: [7, 8, 15, 16, 23], starts: [0, 8, 16] }),
    ));

  it('embed: an id beyond the vocabulary reads no memory that is not its own', () =>
    onDevice((gpu) => check(gpu, 'int4', 64, { sources: [VOCABULARY, 0x7fffffff], tokens: [0, 0] })));
});
