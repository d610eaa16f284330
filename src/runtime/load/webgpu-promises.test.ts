import { expect } from 'chai';
import { systemClock } from '../../shared/clock.ts';
import type { StepTrace } from '../../shared/trace.ts';
import { countGpuCalls, type GpuCallCounter } from '../bench/gpu-calls.ts';
import { measureGpuCalls } from '../bench/steady-calls.ts';
import { createLocalEngine } from './create-local-engine.ts';
import type { Engine } from '../request/engine.ts';
import { createEngineFromParts } from '../engine/local-engine.ts';
import { ggufText, type ModelText } from './model-text.ts';
import { createBuiltInSource, TUTOR_GGUF } from '../models/builtin.ts';
import { readGgufHeader } from '../models/gguf/read-header.ts';
import { createLlamaCpp } from '../models/testing/llama-cpp.ts';
import { argmax, createReferenceModel } from '../models/testing/reference-model.ts';
import { makeSyntheticGguf, SHAPES } from '../models/testing/synthetic-model.ts';
import { KV_BLOCK_TOKENS, type SequenceId } from '../backends/backend.ts';
import { runTokens, sequenceOptions } from '../backends/testing/run-tokens.ts';
import { createWebGpuBackend } from '../backends/webgpu/create-webgpu-backend.ts';
import { memorySource } from '../models/testing/memory-source.ts';
import { watchGpu, type GpuWatch } from '../backends/webgpu/testing/watch-gpu.ts';
import type { WebGpuBackend } from '../backends/webgpu/webgpu-backend.ts';

const TUTOR_FOLDER = new URL('../../../models/tutor/', import.meta.url);
const CONTEXT_TOKENS = 256;
const MAX_BATCH = 8;
/** More than the KV of the whole pool holds if each left its one block behind. */
const GENERATIONS = (MAX_BATCH * CONTEXT_TOKENS) / KV_BLOCK_TOKENS + 4;

const F16_NAN = 0x7e00;
/** Bytes of a block of Q4_0; its f16 scale comes first. */
const Q4_0_BYTES = 18;

const QUESTIONS = ['What is TTFT?', 'What is a KV cache?', 'Why is decoding slow?', 'What does quantization do?'];

/** Running text, of which the first {@link TEXT_TOKENS} are taken, with what follows where a line has fewer. */
const TEXTS = [
  'Time to first token is how long a user waits before the answer begins. It grows with the length of the prompt and of the queue.',
  'The KV cache keeps the keys and values of all tokens that were read, so that they are not computed again for the next one.',
  'Decoding reads all weights of the model for each token, and therefore the bandwidth of the memory decides how fast it is.',
  'Quantization stores weights in fewer bits: four instead of sixteen. The model is smaller, and fewer bytes are read for a token.',
  'In prefill the tokens of the prompt are computed together, which makes good use of the processor and is limited by arithmetic.',
  'A batch of requests shares the weights that are read. Throughput goes up, while each of them waits a little longer.',
  'The seventh of the letters lay on the table by the window, and nobody in the house had opened it since the rain began.',
  'Attention compares the query of a token with the keys of all tokens before it and adds up their values by how well they fit.',
] as const;
const TEXT_TOKENS = 30;
/** llama.cpp rounds activations to 8 bits, which tips a few close calls; the reference does not. */
const REFERENCE_AGREEMENT = 0.99;

describe('webgpu backend: what it promises, on the tutor', () => {
  let watch: GpuWatch;
  let counter: GpuCallCounter;
  let backend: WebGpuBackend;
  let text: ModelText;
  let engine: Engine;
  /** Once loaded, before anything was generated. */
  let baselineBytes: number;

  before(async () => {
    counter = countGpuCalls();
    watch = watchGpu();
    backend = await createWebGpuBackend({
      source: createBuiltInSource(TUTOR_FOLDER),
      path: TUTOR_GGUF,
      contextTokens: CONTEXT_TOKENS,
      maxBatch: MAX_BATCH,
      onHeader: ({ metadata }) => (text = ggufText(metadata)),
    });
    const { version, model } = backend.info;
    engine = createEngineFromParts({
      backend,
      ...text,
      clock: systemClock,
      info: { engine: 'webgpu', reason: 'asked for', version, model, worker: false },
    });
    baselineBytes = backend.liveGpuBytes;
  });

  after(async () => {
    await backend.dispose();
    watch.stop();
    counter.uninstall();
  });

  const encode = (question: string): readonly number[] =>
    text.encodePrompt({ messages: [{ role: 'user', content: question }] });

  it('generate: greedy text is that of the ONNX backend', async () => {
    await using onnx = await createLocalEngine({
      model: 'tutor',
      engine: 'onnx-wasm',
      prefixCache: false,
      store: false,
    });
    for (const question of QUESTIONS) {
      const ours = await answer(engine, question);
      expect(ours.trim()).not.to.equal('');
      expect(ours, question).to.equal(await answer(onnx, question));
    }
  });

  it('step: the most likely next token is that of llama.cpp, teacher-forced, at 98 % of positions at least', async () => {
    const gguf = await (await fetch(new URL(TUTOR_GGUF, TUTOR_FOLDER))).blob();
    const reference = await createReferenceModel(new Uint8Array(await gguf.arrayBuffer()), { contextTokens: 64 });
    await using llama = await createLlamaCpp(gguf, { contextTokens: 64 });
    const tokens = TEXTS.map((line, index) =>
      text.tokenizer.encode(`${line} ${TEXTS[(index + 1) % TEXTS.length]!}`).slice(0, TEXT_TOKENS),
    );
    const ours = await mostLikely(backend, tokens);
    let same = 0;
    let sameAsReference = 0;
    let seen = 0;
    for (const [index, sequence] of tokens.entries()) {
      const theirs = await llama.logprobs(sequence);
      seen += theirs.length;
      reference.truncate();
      const exact = reference.forward(sequence).map(argmax);
      sameAsReference += exact.filter((best, position) => best === ours[index]![position]).length;
      same += theirs.filter(([best], position) => best!.id === ours[index]![position]).length;
    }
    expect(seen).to.equal(TEXTS.length * TEXT_TOKENS);
    const share = same / seen;
    expect(share, 'with llama.cpp').to.be.at.least(0.98);
    expect(sameAsReference / seen, 'with the f32 reference').to.be.at.least(REFERENCE_AGREEMENT);
  });

  it('generate: a decoded token takes one submit, few dispatches, and makes nothing', async () => {
    const request = { prompt: 'The model', maxTokens: 40, ignoreEos: true, sampling: { temperature: 0 } };
    const calls = (await measureGpuCalls(engine, request, counter))!;
    const { layers } = backend.info.model;
    expect(calls.dispatches).to.be.within(layers, 6 * layers + 6);
    expect(calls).to.include({ submits: 1, createBuffer: 0, createBindGroup: 0, createPipeline: 0, pushErrorScope: 0 });
    expect(calls.writeBuffer).to.be.at.most(2);
    expect(calls.mapAsync).to.be.at.most(1);
  });

  it('step: the next steps are submitted before the result of one is read', async () => {
    const { runAhead } = backend.info.capabilities;
    const sequence = backend.openSequence(sequenceOptions());
    await backend.step([{ sequence, input: encode(QUESTIONS[0]!), sample: true, isPrompt: true }]);
    const before = counter.read();
    const steps = Array.from({ length: runAhead }, () =>
      backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]),
    );
    // Nothing was awaited since.
    expect(runAhead).to.be.above(1);
    expect(counter.read().submits - before.submits).to.equal(runAhead);
    await Promise.all(steps);
    backend.closeSequence(sequence);
  });

  it('StepTrace: bytes and dispatches of a decode step are those of the weights, the KV and the calls', async () => {
    const steps: StepTrace[] = [];
    const stop = engine.metrics.on('step', (step) => steps.push(step));
    const before = counter.read().dispatches;
    await answer(engine, QUESTIONS[1]!);
    stop();
    const told = steps.reduce((sum, { dispatches }) => sum + dispatches!, 0);
    expect(told).to.equal(counter.read().dispatches - before);
    const { layers, kvHeads, headDim, weightBytes } = backend.info.model;
    const decoded = steps.filter(({ kind }) => kind === 'decode');
    expect(decoded).to.have.length.at.least(20);
    for (const { bytes, contextTokens } of decoded) {
      // Keys and values in f16.
      const truth = weightBytes + contextTokens * layers * kvHeads * headDim * 2 * 2;
      const counted = bytes!.weights + bytes!.kv;
      expect(counted / truth, `at ${contextTokens} tokens`).to.be.closeTo(1, 0.05);
    }
  });

  it('step: eight sequences in one batch give the tokens that each gives alone', async () => {
    const count = 8;
    const prompts = TEXTS.map((sentence, index) => text.tokenizer.encode(sentence).slice(0, 3 + 2 * index));
    const alone: number[][] = [];
    for (const prompt of prompts) alone.push(await runTokens(backend, prompt, count));
    expect(new Set(alone.map(String))).to.have.property('size', MAX_BATCH);
    const sequences = prompts.map(() => backend.openSequence(sequenceOptions()));
    const together: number[][] = [];
    for (const [index, sequence] of sequences.entries()) {
      const { rows } = await backend.step([{ sequence, input: prompts[index]!, sample: true, isPrompt: true }]);
      together.push([rows[0]!.token!]);
    }
    for (let made = 1; made < count; made++) {
      const rows = sequences.map(
        (sequence) => ({ sequence, input: 'previous', sample: true, isPrompt: false }) as const,
      );
      const result = await backend.step(rows);
      expect(result.trace.batch).to.equal(MAX_BATCH);
      for (const [index, { token }] of result.rows.entries()) together[index]!.push(token!);
    }
    for (const sequence of sequences) backend.closeSequence(sequence);
    expect(together).to.deep.equal(alone);
  });

  it('generate: many generations leave the memory of the GPU and the KV pool as they were', async () => {
    expect(baselineBytes).to.be.above(backend.info.model.weightBytes);
    const prompt = encode(QUESTIONS[0]!).slice(0, 6);
    const first = await runTokens(backend, prompt, 2);
    for (let round = 0; round < GENERATIONS; round++) {
      expect(await runTokens(backend, prompt, 2, {}, { runAhead: 2 })).to.deep.equal(first);
    }
    expect(backend.liveGpuBytes).to.equal(baselineBytes);
    expect(watch.liveBytes()).to.equal(baselineBytes);
  });

  it('dispose: gives every byte back', async () => {
    await engine[Symbol.asyncDispose]();
    expect(backend.liveGpuBytes).to.equal(0);
    expect(watch.liveBytes()).to.equal(0);
    expect(await watch.devices.at(-1)!.lost).to.have.property('reason', 'destroyed');
  });
});

describe('webgpu backend: what it promises, when things break', () => {
  const file = makeSyntheticGguf({ ...SHAPES.tiny, layers: 1, architecture: 'llama', quantization: 'Q4_0' });
  let watch: GpuWatch;

  before(() => {
    watch = watchGpu();
  });

  after(() => watch.stop());

  const load = (gguf: Uint8Array<ArrayBuffer>) =>
    createWebGpuBackend({ source: memorySource(gguf), path: 'model.gguf', contextTokens: 64, maxBatch: 1 });

  it('createWebGpuBackend: a weight that is not a number ends with numeric-fault, and leaves nothing on the GPU', async () => {
    const broken = file.slice();
    const { tensors } = await readGgufHeader(broken, { totalBytes: broken.length });
    const { offset } = tensors.find(({ name }) => name === 'output.weight')!;
    // The scale of the first block of Q4_0, in f16.
    new DataView(broken.buffer).setUint16(offset, F16_NAN, true);
    const error: unknown = await load(broken).catch((caught: unknown) => caught);
    expect(error).to.have.property('code', 'numeric-fault');
    expect(watch.devices).to.have.length(1);
    expect(watch.liveBytes()).to.equal(0);
  });

  it('createWebGpuBackend: an output matrix of zeros ends with numeric-fault, for flat logits', async () => {
    const broken = file.slice();
    const { tensors } = await readGgufHeader(broken, { totalBytes: broken.length });
    const { offset, byteLength } = tensors.find(({ name }) => name === 'output.weight')!;
    for (let at = offset; at < offset + byteLength; at += Q4_0_BYTES) broken.fill(0, at, at + 2);
    const error: unknown = await load(broken).catch((caught: unknown) => caught);
    expect(error).to.have.property('code', 'numeric-fault');
    expect(error).to.have.nested.property('details.fault', 'flat');
    expect(watch.liveBytes()).to.equal(0);
  });

  it('step: a device that goes away in the middle rejects with device-lost, then and later', async () => {
    const backend = await load(file);
    const sequence = backend.openSequence(sequenceOptions());
    const step = () => backend.step([{ sequence, input: [7], sample: true, isPrompt: true }]);
    await step();
    const pending = [step(), step()].map((running) => running.catch((caught: unknown) => caught));
    watch.devices.at(-1)!.destroy();
    for (const error of await Promise.all(pending)) expect(error).to.have.property('code', 'device-lost');
    expect(await backend.lost).to.have.property('code', 'device-lost');
    expect(await step().catch((caught: unknown) => caught)).to.have.property('code', 'device-lost');
    await backend.dispose();
    expect(backend.liveGpuBytes).to.equal(0);
  });
});

async function answer(engine: Engine, question: string): Promise<string> {
  let whole = '';
  const messages = [{ role: 'user', content: question }] as const;
  for await (const event of engine.generate({ messages, maxTokens: 24, sampling: { temperature: 0 } })) {
    if (event.type === 'delta') whole += event.text;
  }
  return whole;
}

/** The most likely next token after each position; sequences of one length, a batch of them at a time. */
async function mostLikely(backend: WebGpuBackend, sequences: readonly (readonly number[])[]): Promise<number[][]> {
  const best: number[][] = sequences.map(() => []);
  const ids: SequenceId[] = sequences.map(() => backend.openSequence(sequenceOptions()));
  for (const position of sequences[0]!.keys()) {
    const { rows } = await backend.step(
      ids.map((sequence, i) => ({ sequence, input: [sequences[i]![position]!], sample: true, isPrompt: true })),
    );
    for (const [index, { token }] of rows.entries()) best[index]!.push(token!);
  }
  for (const id of ids) backend.closeSequence(id);
  return best;
}
