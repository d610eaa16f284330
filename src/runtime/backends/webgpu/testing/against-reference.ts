import { expect } from 'chai';
import { createReferenceModel } from '../../../models/testing/reference-model.ts';
import { makeSyntheticGguf, type SyntheticModel } from '../../../models/testing/synthetic-model.ts';
import { sequenceOptions } from '../../testing/run-tokens.ts';
import type { Backend } from '../../backend.ts';
import { createWebGpuBackend, type WebGpuBackendOptions } from '../create-webgpu-backend.ts';
import { memorySource } from '../../../models/testing/memory-source.ts';

export interface ReferenceRun {
  /** Tokens given as a prompt, and then one by one. */
  prompt: number;
  steps: number;
  /** Most that a log-probability may differ. */
  tolerance: number;
  chunk?: number;
  options?: Partial<WebGpuBackendOptions>;
}

/** Log-probabilities that a backend gives for the top tokens, teacher-forced, against the f32 reference of the same file. */
export async function compareWithReference(model: SyntheticModel, run: ReferenceRun): Promise<void> {
  const gguf = makeSyntheticGguf(model);
  const backend = await createWebGpuBackend({
    source: memorySource(gguf),
    path: 'model.gguf',
    contextTokens: 128,
    maxBatch: 1,
    ...run.options,
  });
  try {
    const tokens = Array.from({ length: run.prompt + run.steps }, (_, i) => (i * 37 + 11) % model.vocab);
    const reference = await createReferenceModel(gguf, { contextTokens: backend.info.model.contextTokens });
    const expected = reference.forward(tokens).map(logSoftmax);
    await compareSteps(backend, tokens, expected, run);
  } finally {
    await backend.dispose();
  }
}

async function compareSteps(backend: Backend, tokens: number[], expected: Float64Array[], run: ReferenceRun) {
  const sequence = backend.openSequence(sequenceOptions({}, 5));
  const inputs: number[][] = [];
  const { chunk = run.prompt } = run;
  for (let at = 0; at < run.prompt; at += chunk) inputs.push(tokens.slice(at, Math.min(run.prompt, at + chunk)));
  for (let at = run.prompt; at < tokens.length; at++) inputs.push([tokens[at]!]);
  let length = 0;
  for (const input of inputs) {
    length += input.length;
    const isPrompt = length <= run.prompt;
    const { rows } = await backend.step([{ sequence, input, sample: true, isPrompt }]);
    const truth = expected[length - 1]!;
    for (const { id, logprob } of rows[0]!.topLogprobs!) {
      expect(logprob, `token ${id} after ${length} tokens`).to.be.closeTo(truth[id]!, run.tolerance);
    }
    const best = truth.reduce((a, b) => Math.max(a, b));
    // The sampled token is the best one, or one that rounding cannot tell from it.
    expect(truth[rows[0]!.token!], `best token after ${length}`).to.be.closeTo(best, 2 * run.tolerance);
  }
}

function logSoftmax(logits: Float32Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b));
  let sum = 0;
  for (const value of logits) sum += Math.exp(value - most);
  const shift = most + Math.log(sum);
  return Float64Array.from(logits, (value) => value - shift);
}
