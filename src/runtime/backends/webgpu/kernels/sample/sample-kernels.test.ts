import { expect } from 'chai';
import type { SamplingParams } from '../../../../../shared/generation.ts';
import { createSampler, type SampledToken } from '../../../sampling/sampler.ts';
import { bruteForceDistribution, bruteForceScores } from '../../../sampling/testing/brute-force.ts';
import {
  LOGIT_KINDS,
  PLAIN,
  randomLogits,
  randomParams,
  randomTokens,
  seededRandom,
  type LogitKind,
} from '../../../sampling/testing/random-cases.ts';
import { TokenCounts } from '../../../sampling/token-counts.ts';
import type { GpuContext } from '../../device.ts';
import { GPU_COPY_DST, GPU_COPY_SRC, GPU_STORAGE } from '../../memory.ts';
import { onDevice, readBuffer } from '../../testing/gpu.ts';
import { KernelCompiler } from '../pipeline.ts';
import { readSampleRecord, type SampleRecord, type SampleRow } from './layout.ts';
import {
  createSampleKernels,
  type SampleKernelOptions,
  type SampleKernels,
  type SampleVariant,
} from './sample-kernels.ts';

/** The kernels with a logits buffer that the test fills. */
interface Bench {
  gpu: GpuContext;
  kernels: SampleKernels;
  logits: GPUBuffer;
  vocabSize: number;
}

async function onBench(
  options: Omit<SampleKernelOptions, 'logits'>,
  body: (bench: Bench) => Promise<void>,
): Promise<void> {
  await onDevice(async (gpu) => {
    const words = options.maxRows * (options.logitsStride ?? options.vocabSize);
    const logits = gpu.memory.create('logits', words * 4, { usage: GPU_STORAGE | GPU_COPY_DST | GPU_COPY_SRC });
    const kernels = await createSampleKernels(gpu, new KernelCompiler(gpu.device), { ...options, logits });
    await body({ gpu, kernels, logits, vocabSize: options.vocabSize });
    kernels.destroy();
    kernels.destroy();
    gpu.memory.destroy(logits);
    expect(gpu.memory.bytes, 'live bytes').to.equal(0);
  });
}

/** Runs one step without reading anything back. */
function step({ gpu, kernels }: Bench, rows: readonly SampleRow[], variant?: SampleVariant): void {
  kernels.writeRows(rows);
  const encoder = gpu.device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  kernels.encode(pass, rows.length, variant ?? kernels.variantOf(rows));
  pass.end();
  gpu.device.queue.submit([encoder.finish()]);
}

async function stepAndRead(
  bench: Bench,
  rows: readonly SampleRow[],
  logprobs: number,
  variant?: SampleVariant,
): Promise<SampleRecord[]> {
  step(bench, rows, variant);
  const records = await readBuffer(bench.gpu.device, bench.kernels.records);
  return rows.map((_, row) => readSampleRecord(records, row, logprobs));
}

function writeLogits({ gpu, logits, vocabSize }: Bench, row: number, values: Float32Array, stride = vocabSize): void {
  gpu.device.queue.writeBuffer(logits, row * stride * 4, values);
}

/** One logit vector on the GPU: slot 0, row 0. */
async function sampleOnce(
  bench: Bench,
  logits: readonly number[] | Float32Array,
  params: Partial<SamplingParams> = {},
  row: Partial<SampleRow> = {},
): Promise<SampleRecord> {
  writeLogits(bench, 0, Float32Array.from(logits));
  bench.kernels.openSlot(0, { ...PLAIN, ...params }, 0);
  const [record] = await stepAndRead(bench, [{ slot: 0, position: 0, sample: true, ...row }], 0);
  return record!;
}

interface Case {
  kind: LogitKind;
  logits: Float32Array;
  params: Required<SamplingParams>;
  prompt: number[];
  output: number[];
  position: number;
}

function randomCase(i: number, vocabSize: number, random: () => number): Case {
  const kind = LOGIT_KINDS[i % LOGIT_KINDS.length]!;
  return {
    kind,
    logits: randomLogits(kind, vocabSize, random),
    params: randomParams(vocabSize, random),
    prompt: randomTokens(20, vocabSize, random),
    output: randomTokens(20, vocabSize, random),
    position: 40 + i,
  };
}

function sampleOnCpu(c: Case, logprobs: number): SampledToken | undefined {
  const counts = new TokenCounts();
  for (const id of c.prompt) counts.append(id, true);
  for (const id of c.output) counts.append(id, false);
  try {
    return createSampler(c.logits.length).sample({ ...c, counts, logprobs });
  } catch {
    return undefined; // a fault: everything is banned
  }
}

/**
 * A difference that f32 explains: the two tokens' scores (in f64) are closer than f32 tells apart, or a filter's threshold is.
 */
function isNearTie(c: Case, token: number): boolean {
  for (const topP of [c.params.topP, c.params.topP * (1 - 2e-5), Math.min(1, c.params.topP * (1 + 2e-5))]) {
    const distribution = bruteForceDistribution({ ...c, params: { ...c.params, topP } });
    const scores = bruteForceScores(distribution, c.params.seed, c.position);
    const own = scores.find(({ id }) => id === token);
    if (own && scores[0]!.score - own.score < 1e-4) return true;
  }
  return false;
}

describe('createSampleKernels', () => {
  for (const [vocabSize, maxRows, steps, logitsStride] of [
    [1, 2, 4, undefined],
    [7, 8, 60, undefined],
    [300, 5, 40, 304],
    [2048, 8, 60, undefined],
    [20_001, 3, 10, undefined],
    [151_936, 8, 4, undefined],
    [262_144, 2, 2, undefined],
  ] as const) {
    it(`createSampleKernels: chooses what the CPU chooses, all parameters mixed over ${maxRows} rows, vocabulary ${vocabSize}`, async () => {
      const random = seededRandom(vocabSize + 1);
      const stride = logitsStride ?? vocabSize;
      await onBench({ vocabSize, maxRows, maxSlots: maxRows, maxTokens: 64, logitsStride: stride }, async (bench) => {
        let differences = 0;
        for (let at = 0; at < steps; at++) {
          const logprobs = at % 3 === 0 ? 0 : at % 3 === 1 ? 20 : 3;
          const cases = Array.from({ length: maxRows }, (_, row) => randomCase(at * maxRows + row, vocabSize, random));
          // Rows name slots in another order, as they do once sequences come and go.
          const slotOf = (row: number): number => (row + at) % maxRows;
          cases.forEach(({ logits, params, prompt, output }, row) => {
            writeLogits(bench, row, logits, stride);
            bench.kernels.openSlot(slotOf(row), params, logprobs);
            bench.kernels.appendTokens(slotOf(row), 0, prompt, true);
            bench.kernels.appendTokens(slotOf(row), prompt.length, output, false);
          });
          const rows = cases.map(({ position }, row) => ({ slot: slotOf(row), position, sample: true }));
          const records = await stepAndRead(bench, rows, logprobs);
          cases.forEach((c, row) => {
            const expected = sampleOnCpu(c, logprobs);
            const actual = records[row]!;
            const said = `step ${at}, row ${row}, ${c.kind}, ${JSON.stringify(c.params)}`;
            if (expected === undefined) {
              expect(actual.fault, said).to.equal('all-banned');
              return;
            }
            expect(actual.fault, said).to.equal(undefined);
            if (actual.token !== expected.token) {
              differences++;
              expect(isNearTie(c, actual.token), `${actual.token} instead of ${expected.token}, ${said}`).to.equal(
                true,
              );
              return;
            }
            if (logprobs === 0) return;
            expectLogprob(actual.logprob, expected.logprob!, said);
            expect(
              actual.topLogprobs!.map(({ id }) => id),
              said,
            ).to.deep.equal(expected.topLogprobs!.map(({ id }) => id));
            actual.topLogprobs!.forEach(({ logprob }, i) =>
              expectLogprob(logprob, expected.topLogprobs![i]!.logprob, said),
            );
          });
        }
        // 99.9 % of all cases; of few cases, none.
        expect(differences, 'differences').to.be.at.most(Math.floor((steps * maxRows) / 1000));
      });
    });
  }

  /** Within 1e-4, or what f32 can say of a large value. */
  function expectLogprob(actual: number | undefined, expected: number, said: string): void {
    expect(actual, said).to.be.closeTo(expected, Math.max(1e-4, Math.abs(expected) * 2e-7));
  }

  it('createSampleKernels: at every temperature and seed, one draw of 151936 tokens is the same as on the CPU', async () => {
    const vocabSize = 151_936;
    const random = seededRandom(9);
    await onBench({ vocabSize, maxRows: 8, maxSlots: 8, maxTokens: 8 }, async (bench) => {
      const logits = randomLogits('model', vocabSize, random);
      for (let row = 0; row < 8; row++) writeLogits(bench, row, logits);
      for (let at = 0; at < 4; at++) {
        const paramsOf = (row: number): Required<SamplingParams> => ({
          ...PLAIN,
          temperature: [0.05, 0.3, 0.7, 1, 1.2, 2, 5, 100][row]!,
          seed: at * 1_000_003,
          ...(at % 2 === 1 ? { topP: 0.9, topK: [0, 50][at >> 1]! } : {}),
        });
        for (let row = 0; row < 8; row++) bench.kernels.openSlot(row, paramsOf(row), 0);
        const rows = Array.from({ length: 8 }, (_, slot) => ({ slot, position: at, sample: true }));
        const records = await stepAndRead(bench, rows, 0);
        const sampler = createSampler(vocabSize);
        records.forEach(({ token }, row) => {
          const expected = sampler.sample({ logits, params: paramsOf(row), position: at, logprobs: 0 });
          expect(token, `${at} ${row}`).to.equal(expected.token);
        });
      }
    });
  });

  it('createSampleKernels: top-k finds its threshold by bisection when thousands of values are alike', async () => {
    const vocabSize = 4096;
    await onBench({ vocabSize, maxRows: 1, maxSlots: 1, maxTokens: 8 }, async (bench) => {
      const random = seededRandom(1);
      const logits = Float32Array.from({ length: vocabSize }, () => Math.floor(random() * 4) / 4 - 0.5);
      for (const topK of [1, 300, 1023, 2048, 4095]) {
        for (let seed = 0; seed < 4; seed++) {
          const params = { ...PLAIN, temperature: 0.5, topK, topP: 0.6, seed };
          const { token } = createSampler(vocabSize).sample({ logits, params, position: 3, logprobs: 0 });
          const record = await sampleOnce(bench, logits, params, { position: 3 });
          expect(record.token, `top-k ${topK}`).to.equal(token);
        }
      }
    });
  });

  it('createSampleKernels: the top list holds when thousands of values are alike', async () => {
    const vocabSize = 4096;
    await onBench({ vocabSize, maxRows: 1, maxSlots: 1, maxTokens: 8 }, async (bench) => {
      const logits = new Float32Array(vocabSize).fill(1);
      logits[4000] = 2;
      logits[7] = -1;
      writeLogits(bench, 0, logits);
      bench.kernels.openSlot(0, PLAIN, 20);
      const [record] = await stepAndRead(bench, [{ slot: 0, position: 0, sample: true }], 20);
      const ids = [4000, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
      expect(record!.topLogprobs!.map(({ id }) => id)).to.deep.equal(ids);
      expect(record!.logprob).to.be.closeTo(2 - Math.log(Math.exp(2) + 4094 * Math.exp(1) + Math.exp(-1)), 1e-4);
    });
  });

  it('createSampleKernels: penalties by hand, with tokens appended on the GPU and truncated there', async () => {
    await onBench({ vocabSize: 4, maxRows: 1, maxSlots: 2, maxTokens: 16 }, async (bench) => {
      const { kernels } = bench;
      // Greedy, presence 0.5: each sampled token falls behind the next best.
      kernels.openSlot(1, { ...PLAIN, presencePenalty: 0.5, frequencyPenalty: 0.25 }, 0);
      writeLogits(bench, 0, Float32Array.of(2, 1.9, 1.8, 1));
      const next = async (position: number): Promise<number> => {
        const row: SampleRow = { slot: 1, position, sample: true, ...(position > 0 && { append: 'previous' }) };
        return (await stepAndRead(bench, [row], 0))[0]!.token;
      };
      // 0: 2, then 1.25; 1: 1.9, then 1.15; 2: 1.8, then 1.05; then 0 again, now 1; then 1, 2, and 0 and 3 tie.
      const tokens = [];
      for (let position = 0; position < 7; position++) tokens.push(await next(position));
      expect(tokens).to.deep.equal([0, 1, 2, 0, 1, 2, 0]);
      // Back to where 0 and 1 are appended, the latter by id now: 2 is next, as it was.
      kernels.truncate(1, 1, 6);
      const [again] = await stepAndRead(bench, [{ slot: 1, position: 2, sample: true, append: 1 }], 0);
      expect(again!.token).to.equal(2);
      expect(await next(3)).to.equal(0);
      // A row without a sample counts what it appends.
      kernels.openSlot(0, { ...PLAIN, presencePenalty: 2 }, 0);
      step(bench, [{ slot: 0, position: 1, sample: false, append: 0 }]);
      expect((await stepAndRead(bench, [{ slot: 0, position: 1, sample: true }], 0))[0]!.token).to.equal(1);
      // A fresh sequence in the slot knows nothing of the old.
      kernels.openSlot(1, { ...PLAIN, presencePenalty: 0.5 }, 0);
      expect(await next(0)).to.equal(0);
    });
  });

  it('createSampleKernels: steps that run ahead count as steps that are awaited, against the CPU', async () => {
    const vocabSize = 700;
    const length = 40;
    const random = seededRandom(21);
    await onBench({ vocabSize, maxRows: 1, maxSlots: 3, maxTokens: 100 }, async (bench) => {
      // A few likely tokens, so that each is often its own successor.
      const logits = randomLogits('model', vocabSize, random);
      const prompt = randomTokens(30, vocabSize, random);
      const params = { ...PLAIN, temperature: 0.8, topP: 0.9, seed: 5, frequencyPenalty: 0.7, repetitionPenalty: 1.3 };
      writeLogits(bench, 0, logits);
      bench.kernels.openSlot(2, params, 0);
      bench.kernels.appendTokens(2, 0, prompt.slice(0, 11), true);
      bench.kernels.appendTokens(2, 11, prompt.slice(11), true);
      const all = bench.gpu.memory.create('all records', length * bench.kernels.recordBytes);
      for (let i = 0; i < length; i++) {
        step(bench, [{ slot: 2, position: 30 + i, sample: true, ...(i > 0 && { append: 'previous' }) }]);
        const encoder = bench.gpu.device.createCommandEncoder();
        const { records, recordBytes } = bench.kernels;
        encoder.copyBufferToBuffer(records, 0, all, i * recordBytes, recordBytes);
        bench.gpu.device.queue.submit([encoder.finish()]);
      }
      const bytes = await readBuffer(bench.gpu.device, all);
      const onGpu = Array.from({ length }, (_, i) => readSampleRecord(bytes, i, 0).token);
      bench.gpu.memory.destroy(all);

      const counts = new TokenCounts();
      for (const id of prompt) counts.append(id, true);
      const sampler = createSampler(vocabSize);
      const onCpu = Array.from({ length }, (_, i) => {
        const { token } = sampler.sample({ logits, params, counts, position: 30 + i, logprobs: 0 });
        counts.append(token, false);
        return token;
      });
      expect(onGpu).to.deep.equal(onCpu);
    });
  });

  it('createSampleKernels: a prompt longer than one upload is counted whole', async () => {
    const vocabSize = 300;
    await onBench({ vocabSize, maxRows: 1, maxSlots: 1, maxTokens: 10_000 }, async (bench) => {
      const { kernels } = bench;
      kernels.openSlot(0, { ...PLAIN, frequencyPenalty: 0.001 }, 0);
      // 9000 tokens of 7 cost it 9; taking back the last 500 leaves it 0.5 ahead of the next.
      kernels.appendTokens(0, 0, new Array<number>(9000).fill(7), false);
      const logits = new Float32Array(vocabSize);
      logits[7] = 9;
      logits[8] = 0.25;
      writeLogits(bench, 0, logits);
      const row = { slot: 0, position: 9000, sample: true };
      expect((await stepAndRead(bench, [row], 0))[0]!.token).to.equal(8);
      kernels.truncate(0, 8500, 9000);
      expect((await stepAndRead(bench, [row], 0))[0]!.token).to.equal(7);
    });
  });

  it('createSampleKernels: the latest token of a slot is where the next step embeds it from, and rows without a sample leave it', async () => {
    await onBench({ vocabSize: 10, maxRows: 3, maxSlots: 3, maxTokens: 8 }, async (bench) => {
      for (let slot = 0; slot < 3; slot++) {
        bench.kernels.openSlot(slot, PLAIN, 0);
        writeLogits(
          bench,
          slot,
          Float32Array.from({ length: 10 }, (_, id) => (id === 3 + slot ? 1 : 0)),
        );
      }
      step(bench, [
        { slot: 2, position: 0, sample: true },
        { slot: 1, position: 0, sample: false },
        { slot: 0, position: 0, sample: true },
      ]);
      const tokens = new Uint32Array(await readBuffer(bench.gpu.device, bench.kernels.tokens), 0, 3);
      expect([...tokens]).to.deep.equal([5, 0, 3]);
    });
  });

  it('createSampleKernels: the greedy variant equals the full one, bit for bit', async () => {
    const vocabSize = 2048;
    const random = seededRandom(8);
    await onBench({ vocabSize, maxRows: 6, maxSlots: 6, maxTokens: 64 }, async (bench) => {
      const rows: SampleRow[] = [];
      for (let slot = 0; slot < 6; slot++) {
        const c = randomCase(slot, vocabSize, random);
        bench.kernels.openSlot(slot, { ...c.params, temperature: 0 }, 5);
        bench.kernels.appendTokens(slot, 0, c.output, false);
        writeLogits(bench, slot, c.logits);
        rows.push({ slot, position: 20, sample: true });
      }
      expect(bench.kernels.variantOf(rows)).to.equal('greedy');
      const greedy = await stepAndRead(bench, rows, 5, 'greedy');
      expect(greedy).to.deep.equal(await stepAndRead(bench, rows, 5, 'full'));
    });
  });

  it('createSampleKernels: the grammar mask bans where the row says so', async () => {
    await onBench({ vocabSize: 40, maxRows: 1, maxSlots: 1, maxTokens: 8 }, async (bench) => {
      bench.kernels.writeMask(0, Uint32Array.of(1 << 5, 1 << 2));
      const logits = Float32Array.from({ length: 40 }, (_, id) => -id);
      expect((await sampleOnce(bench, logits)).token).to.equal(0);
      expect((await sampleOnce(bench, logits, {}, { masked: true })).token).to.equal(5);
      expect((await sampleOnce(bench, logits, { logitBias: { 5: -100 } }, { masked: true })).token).to.equal(34);
      const banned = { 5: -100, 34: -100 };
      expect((await sampleOnce(bench, logits, { logitBias: banned }, { masked: true })).fault).to.equal('all-banned');
      expect(() => bench.kernels.writeMask(0, new Uint32Array(1))).to.throw(RangeError);
    });
  });

  it('createSampleKernels: NaN, +Infinity and flat logits are faults, and leave a token within the vocabulary', async () => {
    for (const vocabSize of [5, 3000]) {
      await onBench({ vocabSize, maxRows: 1, maxSlots: 1, maxTokens: 8 }, async (bench) => {
        const normal = Float32Array.from({ length: vocabSize }, (_, id) => Math.sin(id));
        for (const params of [{}, { temperature: 1, topP: 0.9, topK: 3 }]) {
          for (const value of [NaN, Infinity]) {
            const logits = normal.slice();
            logits[vocabSize - 2] = value;
            expect(await sampleOnce(bench, logits, params)).to.deep.equal({ token: 0, fault: 'not-finite' });
          }
          for (const value of [0, 3, -Infinity]) {
            const record = await sampleOnce(bench, new Float32Array(vocabSize).fill(value), params);
            expect(record).to.deep.equal({ token: 0, fault: 'flat' });
          }
          const zeros = Float32Array.from({ length: vocabSize }, (_, id) => (id % 2 === 0 ? 0 : -0));
          expect((await sampleOnce(bench, zeros, params)).fault).to.equal('flat');
          expect((await sampleOnce(bench, normal, params)).fault).to.equal(undefined);
          const one = new Float32Array(vocabSize).fill(-Infinity);
          one[vocabSize - 1] = 0;
          expect(await sampleOnce(bench, one, params)).to.deep.equal({ token: vocabSize - 1 });
        }
      });
    }
  });

  it('createSampleKernels: slots, bias and log-probabilities beyond what there is room for are RangeErrors', async () => {
    await onBench({ vocabSize: 9, maxRows: 1, maxSlots: 1, maxTokens: 8, biasCapacity: 2 }, async ({ kernels }) => {
      expect(() => kernels.openSlot(1, PLAIN, 0)).to.throw(RangeError, 'slot 1');
      expect(() => kernels.openSlot(0, { ...PLAIN, logitBias: { 1: 1, 2: 1, 3: 1 } }, 0)).to.throw(RangeError, 'bias');
      expect(() => kernels.openSlot(0, PLAIN, 21)).to.throw(RangeError, '21');
      await Promise.resolve();
    });
  });
});
