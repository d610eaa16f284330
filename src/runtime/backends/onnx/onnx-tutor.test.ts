import { expect } from 'chai';
import type { StepRowResult } from '../backend.ts';
import { createBuiltInSource, TUTOR_GGUF } from '../../models/builtin.ts';
import { createLlamaCpp } from '../../models/testing/llama-cpp.ts';
import { continueSequence, runTokens, sequenceOptions } from '../testing/run-tokens.ts';
import { createOnnxBackend } from './create-onnx-backend.ts';
import type { OnnxBackend } from './onnx-backend.ts';

const QUESTIONS = [
  'What is TTFT?',
  'Why is decode memory-bound?',
  'What does prefill do?',
  'Explain the KV cache.',
  'What is TPOT?',
  'How is goodput measured?',
  'What is a roofline?',
  'Hello!',
  'Who are you?',
  'What does INT4 mean?',
  'What is inter-token latency?',
  'Why batch requests?',
  'What is speculative decoding?',
  'What is p95?',
  'What is an SLO?',
  'How does the prefix cache help?',
  'Why is the first token slow?',
  'Can you write a poem?',
  'What limits tokens per second?',
  'Thank you.',
];
const TOKENS = 48;

/** Prefills one after the other, then decodes all in one step after another. */
async function decodeTogether(
  backend: OnnxBackend,
  prompts: readonly number[][],
  count: number,
  options: ReturnType<typeof sequenceOptions>,
): Promise<Pick<StepRowResult, 'token' | 'topLogprobs'>[][]> {
  const open = prompts.map(() => backend.openSequence(options));
  const made: Pick<StepRowResult, 'token' | 'topLogprobs'>[][] = prompts.map(() => []);
  const take = ({ sequence, token, topLogprobs }: StepRowResult): number =>
    made[open.indexOf(sequence)]!.push({ token, topLogprobs } as StepRowResult);
  for (const [index, sequence] of open.entries())
    (await continueSequence(backend, sequence, prompts[index]!, 1)).forEach(take);
  for (let step = 1; step < count; step++) {
    const rows = open.map((sequence) => ({ sequence, input: 'previous', sample: true, isPrompt: false }) as const);
    (await backend.step(rows)).rows.forEach(take);
  }
  for (const sequence of open) backend.closeSequence(sequence);
  return made;
}

describe('the built-in model in onnxruntime-web', () => {
  const source = createBuiltInSource();
  let wasm: OnnxBackend;
  let prompts: number[][];
  let llama: Awaited<ReturnType<typeof createLlamaCpp>>;
  before(async () => {
    wasm = await createOnnxBackend({ source, device: 'wasm' });
    const { stream } = await source.open(TUTOR_GGUF);
    llama = await createLlamaCpp(await new Response(stream).blob());
    prompts = [];
    for (const question of QUESTIONS)
      prompts.push([
        llama.info.bosId,
        ...(await llama.tokenize(await llama.formatChat([{ role: 'user', content: question }]))),
      ]);
  });
  after(async () => {
    await wasm.dispose();
    await llama.dispose();
  });

  it('step: greedy tokens on WASM are the most likely ones of llama.cpp at 98 % of 960 positions', async () => {
    let agreed = 0;
    for (const prompt of prompts) {
      const tokens = await runTokens(wasm, prompt, TOKENS);
      const reference = await llama.logprobs([...prompt, ...tokens.slice(0, -1)]);
      tokens.forEach((token, index) => {
        if (reference[prompt.length - 1 + index]![0]!.id === token) agreed += 1;
      });
    }
    expect(agreed / (TOKENS * prompts.length), `${agreed} agreed`).to.be.at.least(0.98);
  });

  for (const [kind, sampling] of [
    ['greedy', {}],
    ['sampled', { temperature: 1, topP: 0.95, seed: 7 }],
  ] as const)
    it(`step: eight questions in one step give the tokens of each alone, and its log-probabilities but for rounding (${kind})`, async () => {
      const alone = [];
      for (const prompt of prompts.slice(0, 8)) {
        const sequence = wasm.openSequence(sequenceOptions(sampling, 3));
        const rows = await continueSequence(wasm, sequence, prompt, 12);
        alone.push(rows.map(({ token, topLogprobs }) => ({ token, topLogprobs })));
        wasm.closeSequence(sequence);
      }
      const together = await decodeTogether(wasm, prompts.slice(0, 8), 12, sequenceOptions(sampling, 3));
      for (const [index, rows] of together.entries()) {
        expect(rows.map(({ token }) => token)).to.deep.equal(alone[index]!.map(({ token }) => token));
        // Matrices of eight rows are multiplied by other kernels than those of one.
        for (const [at, { topLogprobs }] of rows.entries())
          expect(topLogprobs![0]!.logprob).to.be.closeTo(alone[index]![at]!.topLogprobs![0]!.logprob, 1e-4);
      }
    });

  it('step: WebGPU gives the tokens of WASM, one sequence and two at a time', async () => {
    const gpu = await createOnnxBackend({ source, device: 'webgpu' });
    const expected = [];
    for (const prompt of prompts.slice(0, 2)) expected.push(await runTokens(wasm, prompt, 6));
    expect(await runTokens(gpu, prompts[0]!, 6)).to.deep.equal(expected[0]);
    const together = await decodeTogether(gpu, prompts.slice(0, 2), 6, sequenceOptions());
    expect(together.map((rows) => rows.map(({ token }) => token))).to.deep.equal(expected);
    await gpu.dispose();
  });

  it('info: parameters count each matrix once, the tied embedding too', () => {
    const { model } = wasm.info;
    const { layers, hiddenSize, heads, kvHeads, headDim, vocabSize, parameters } = model;
    const attention = hiddenSize * headDim * (2 * heads + 2 * kvHeads);
    const known = vocabSize * hiddenSize + layers * (attention + 2 * hiddenSize) + hiddenSize;
    // What is left is three matrices of the feed-forward part in each layer.
    const inner = (parameters - known) / (3 * layers * hiddenSize);
    expect(inner % 32).to.equal(0);
    expect(inner / hiddenSize).to.be.within(1, 8);
    expect(model.quantization).to.equal('q4');
  });
});
