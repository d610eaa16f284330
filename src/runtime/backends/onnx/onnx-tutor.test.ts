import { expect } from 'chai';
import { createBuiltInSource, TUTOR_GGUF } from '../../models/builtin.ts';
import { createLlamaCpp } from '../../models/testing/llama-cpp.ts';
import { runTokens } from '../testing/run-tokens.ts';
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

describe('the built-in model in onnxruntime-web', function () {
  this.timeout(240_000);
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

  it('step: WebGPU gives the tokens of WASM', async () => {
    const gpu = await createOnnxBackend({ source, device: 'webgpu' });
    for (const prompt of prompts.slice(0, 2))
      expect(await runTokens(gpu, prompt, 6)).to.deep.equal(await runTokens(wasm, prompt, 6));
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
