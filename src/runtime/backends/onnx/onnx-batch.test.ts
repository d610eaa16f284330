import { expect } from 'chai';
import type { SamplingParams } from '../../../shared/generation.ts';
import type { SampledToken, StepRow } from '../backend.ts';
import { continueSequence, runTokens, sequenceOptions } from '../testing/run-tokens.ts';
import { createOnnxBackend } from './create-onnx-backend.ts';
import type { OnnxBackend } from './onnx-backend.ts';
import { TINY, tinySource } from './testing/tiny-model.ts';

const TOKENS = 12;
const SCHEDULES = 30;

/** Requests of different lengths, seeds and parameters; the first has a prompt of one token. */
const REQUESTS: readonly { prompt: number[]; sampling: SamplingParams }[] = [
  {},
  { temperature: 1.2, seed: 1 },
  { temperature: 0.8, topP: 0.9, seed: 2 },
  { repetitionPenalty: 1.3 },
  { temperature: 1.5, topK: 20, seed: 3 },
  { frequencyPenalty: 0.9, presencePenalty: 0.4 },
  { temperature: 1, minP: 0.05, presencePenalty: 0.7, seed: 4 },
  { temperature: 2, logitBias: { 5: 4 }, seed: 5 },
].map((sampling, index) => ({
  prompt: Array.from({ length: 1 + index * 13 }, (_, at) => (at * (index + 7) + index * 31) % TINY.vocab),
  sampling,
}));

/** A request in the middle of a schedule. */
interface Running {
  request: number;
  sequence: number;
  made: SampledToken[];
}

/** Numbers in [0, 1) from a seed: a 32-bit linear congruential generator. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

describe('OnnxBackend: several sequences in a step', () => {
  let backend: OnnxBackend;
  let alone: SampledToken[][];
  before(async () => {
    // Of matrices this small, threads would wait for each other most of the time.
    backend = await createOnnxBackend({ source: tinySource(), device: 'wasm', threads: 1 });
    alone = [];
    for (const { prompt, sampling } of REQUESTS) {
      const sequence = backend.openSequence(sequenceOptions(sampling, 2));
      alone.push(
        (await continueSequence(backend, sequence, prompt, TOKENS)).map(
          ({ sequence: _, ...made }) => made as SampledToken,
        ),
      );
      backend.closeSequence(sequence);
    }
  });
  after(() => backend.dispose());

  const begin = (request: number): Running => ({
    request,
    sequence: backend.openSequence(sequenceOptions(REQUESTS[request]!.sampling, 2)),
    made: [],
  });
  const rowOf = ({ request, sequence, made }: Running): StepRow =>
    made.length === 0
      ? { sequence, input: REQUESTS[request]!.prompt, sample: true, isPrompt: true }
      : { sequence, input: [made.at(-1)!.token], sample: true, isPrompt: false };

  it('info: eight sequences decode together, and a step of drafts may be larger', () => {
    expect(backend.info.capabilities.maxBatch).to.equal(8);
    expect(backend.info.capabilities.maxVerifyTokens).to.be.greaterThan(8);
  });

  it(`step: ${SCHEDULES} seeded schedules of joins, pauses, truncations and aborts give each what it gives alone, to the last bit`, async () => {
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const next = random(seed);
      const waiting = REQUESTS.map((_, index) => index).sort(() => next() - 0.5);
      let running: Running[] = [];
      while (waiting.length + running.length > 0) {
        while (waiting.length > 0 && (running.length === 0 || next() < 0.4)) running.push(begin(waiting.pop()!));
        const chosen = running.filter(() => next() < 0.8);
        let budget = backend.info.capabilities.maxStepTokens;
        const taken = chosen.filter((one) => (budget -= rowOf(one).input.length) >= 0);
        if (taken.length === 0) continue;
        const { rows, trace } = await backend.step(taken.map(rowOf));
        expect(trace.batch).to.equal(taken.length);
        for (const [index, { sequence, ...made }] of rows.entries()) {
          const one = taken[index]!;
          expect(sequence).to.equal(one.sequence);
          expect(made, `schedule ${seed}, request ${one.request}, token ${one.made.length}`).to.deep.equal(
            alone[one.request]![one.made.length],
          );
          one.made.push(made as SampledToken);
          if (one.made.length > 2 && next() < 0.1) {
            const dropped = 1 + Math.floor(next() * (one.made.length - 1));
            one.made.splice(-dropped);
            backend.truncate(sequence, REQUESTS[one.request]!.prompt.length + one.made.length - 1);
          }
        }
        running = running.filter((one) => {
          const isAborted = next() < 0.01;
          if (one.made.length < TOKENS && !isAborted) return true;
          backend.closeSequence(one.sequence);
          return false;
        });
      }
    }
  });

  it('kv: blocks held from the middle of a batch go on as a cold start, in another batch', async () => {
    const { prompt } = REQUESTS[7]!;
    const running = [3, 7, 5].map(begin);
    for (const one of running) one.made.push((await backend.step([rowOf(one)])).rows[0] as SampledToken);
    for (let count = 1; count < 4; count++) {
      for (const [index, { sequence: _, ...made }] of (await backend.step(running.map(rowOf))).rows.entries())
        running[index]!.made.push(made as SampledToken);
    }
    const held = await backend.kv.hold(running[1]!.sequence, 0, 2);
    const restored = begin(7);
    await backend.kv.restore(restored.sequence, prompt.slice(0, 64), held, 64);
    const rest = { sequence: restored.sequence, input: prompt.slice(64), sample: true, isPrompt: true };
    const { rows } = await backend.step([rowOf(running[0]!), rest, rowOf(running[2]!)]);
    expect(rows[1]!.token).to.equal(alone[7]![0]!.token);
    restored.made.push(rows[1] as SampledToken);
    for (const index of [0, 2]) running[index]!.made.push(rows[index] as SampledToken);
    backend.closeSequence(running[1]!.sequence);
    running[1] = restored;
    const last = await backend.step(running.map(rowOf));
    expect(last.rows.map(({ token }) => token)).to.deep.equal(
      [alone[3]![5], alone[7]![1], alone[5]![5]].map((made) => made!.token),
    );
    for (const { sequence } of running) backend.closeSequence(sequence);
  });

  it('reserveKv: all sequences together have room for what one may have, and closing gives it back', () => {
    const { contextTokens, kvBytesPerToken } = backend.info.model;
    const open: number[] = [];
    const reserve = (): boolean => {
      open.push(backend.openSequence(sequenceOptions()));
      return backend.reserveKv(open.at(-1)!, contextTokens);
    };
    while (reserve()) continue;
    expect(open.length - 1).to.equal(2 ** 30 / kvBytesPerToken / contextTokens);
    backend.closeSequence(open[0]!);
    expect(backend.reserveKv(open.at(-1)!, contextTokens)).to.equal(true);
    expect(() => backend.reserveKv(open[1]!, contextTokens + 1)).to.throw(RangeError);
    for (const sequence of open) backend.closeSequence(sequence);
  });
});

describe('OnnxBackend: several sequences in a step on WebGPU', () => {
  it('step: three of different lengths that join one after the other, and one that leaves, give the tokens of each alone', async () => {
    const backend = await createOnnxBackend({ source: tinySource({ layers: 1 }), device: 'webgpu' });
    expect(backend.info.capabilities.maxBatch).to.equal(8);
    const requests = [REQUESTS[1]!, REQUESTS[3]!, REQUESTS[2]!];
    const counts = [2, 4, 3];
    const alone = [];
    for (const [index, { prompt, sampling }] of requests.entries())
      alone.push(await runTokens(backend, prompt, counts[index]!, sampling));
    const made: number[][] = [[], [], []];
    const open = requests.map(({ sampling }) => backend.openSequence(sequenceOptions(sampling)));
    for (let step = 0; step < 5; step++) {
      const active = [0, 1, 2].filter((index) => step >= index && made[index]!.length < counts[index]!);
      const rows = active.map((index): StepRow => {
        const last = made[index]!.at(-1);
        const input = last === undefined ? requests[index]!.prompt : [last];
        return { sequence: open[index]!, input, sample: true, isPrompt: last === undefined };
      });
      if (rows.length === 0) continue;
      for (const [at, { token }] of (await backend.step(rows)).rows.entries()) made[active[at]!]!.push(token!);
    }
    expect(made).to.deep.equal(alone);
    await backend.dispose();
  });
});
