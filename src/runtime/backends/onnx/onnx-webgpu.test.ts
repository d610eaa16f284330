import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.ts';
import { backendContract } from '../testing/backend-contract.ts';
import { continueSequence, runTokens, sequenceOptions } from '../testing/run-tokens.ts';
import { createOnnxBackend } from './create-onnx-backend.ts';
import { DeviceGuard } from './device-guard.ts';
import { checkPrefill } from './load-check.ts';
import { loadOnnxFiles } from './model-files.ts';
import type { OnnxBackend } from './onnx-backend.ts';
import { createInferenceSession, OnnxSession } from './onnx-session.ts';
import { webGpuVariant } from './ort-assets.ts';
import { requestOrtDevice } from './ort-device.ts';
import { loadOrtRuntime } from './ort-runtime.ts';
import { capturingGpu } from './testing/capturing-gpu.ts';
import { TINY, tinySource } from './testing/tiny-model.ts';

const PROMPT = [5, 17, 60, 3, 91, 44, 8, 29];
const LONG_PROMPT = Array.from({ length: 45 }, (_, index) => (index * 37 + 11) % TINY.vocab);

// Few tokens and one layer: a step of two takes 50 to 150 ms on a software adapter.
backendContract('onnx-webgpu', () => createOnnxBackend({ source: tinySource({ layers: 1 }), device: 'webgpu' }), {
  promptTokens: PROMPT,
  tokens: 5,
  timeoutMs: 120_000,
});

describe('OnnxBackend on WebGPU', () => {
  let wasm: OnnxBackend;
  before(async () => {
    wasm = await createOnnxBackend({ source: tinySource(), device: 'wasm' });
  });
  after(() => wasm.dispose());

  it('createOnnxBackend: takes a device without subgroups where they have 4 lanes, and prefills 45 tokens as WASM does', async () => {
    const { gpu, descriptors } = capturingGpu();
    const backend = await createOnnxBackend({ source: tinySource(), device: 'webgpu', gpu });
    expect(descriptors).to.have.length(1);
    expect(descriptors[0]!.requiredFeatures).not.to.include('subgroups');
    expect(backend.info.name).to.equal('onnx-webgpu');
    expect(backend.info.adapter).to.include({ isFallback: true, architecture: 'swiftshader' });
    expect(backend.info.threads).to.equal(undefined);
    expect(await runTokens(backend, LONG_PROMPT, 4)).to.deep.equal(await runTokens(wasm, LONG_PROMPT, 4));
    await backend.dispose();
  });

  it('checkPrefill: is right without subgroups, and finds the wrong kernels of subgroups of 4 lanes', async () => {
    const runtime = await loadOrtRuntime({ variant: webGpuVariant(), threads: 1 });
    const files = await loadOnnxFiles({ source: tinySource(), dtypes: ['q4'] });
    const check = async (withSubgroups: boolean): Promise<boolean> => {
      const adapter = (await navigator.gpu.requestAdapter())!;
      const device = await requestOrtDevice(adapter, { withSubgroups });
      const inference = await runtime.exclusive(() => createInferenceSession(runtime, files, device));
      const session = new OnnxSession(runtime, inference, new DeviceGuard(60_000), systemClock, device);
      const { isRight } = await runtime.exclusive(() => checkPrefill(session));
      await session.release();
      return isRight;
    };
    expect(await check(false)).to.equal(true);
    expect(await check(true)).to.equal(false);
  });

  it('createOnnxBackend: the asyncify build gives the tokens of WASM', async () => {
    const backend = await createOnnxBackend({ source: tinySource(), device: 'webgpu', variant: 'asyncify' });
    expect(await runTokens(backend, PROMPT, 3)).to.deep.equal(await runTokens(wasm, PROMPT, 3));
    await backend.dispose();
  });

  it('exportKv: KV of WASM put into WebGPU, and back, goes on with the same tokens', async () => {
    const backend = await createOnnxBackend({ source: tinySource(), device: 'webgpu' });
    const source = wasm.openSequence(sequenceOptions());
    const expected = await continueSequence(wasm, source, LONG_PROMPT, 4);
    const block = await wasm.exportKv(source, 0, 40);
    const onGpu = backend.openSequence(sequenceOptions());
    await backend.importKv(onGpu, LONG_PROMPT.slice(0, 40), [block]);
    const again = await continueSequence(backend, onGpu, LONG_PROMPT.slice(40), 4);
    expect(again).to.deep.equal(expected.map((row) => ({ ...row, sequence: onGpu })));
    // What was uploaded comes back from the GPU as it was.
    const returned = await backend.exportKv(onGpu, 8, 40);
    const original = await wasm.exportKv(source, 8, 40);
    expect(returned.tensors).to.deep.equal(original.tensors);
    wasm.closeSequence(source);
    await backend.dispose();
  });

  it('lost: a device lost in the middle of a step rejects it and all that follows, and the next load works', async () => {
    const { gpu, devices } = capturingGpu();
    const backend = await createOnnxBackend({ source: tinySource(), device: 'webgpu', gpu });
    const expected = await runTokens(backend, PROMPT, 2);
    const sequence = backend.openSequence(sequenceOptions());
    const row = { sequence, input: PROMPT, sample: true, isPrompt: true };
    const rejection = (step: Promise<unknown>): Promise<unknown> => step.catch((error: unknown) => error);
    const pending = rejection(backend.step([row]));
    devices.at(-1)!.destroy();
    const error = await backend.lost;
    expect(error).to.have.property('code', 'device-lost');
    expect(await pending).to.equal(error);
    expect(await rejection(backend.step([row]))).to.equal(error);
    backend.closeSequence(sequence);
    await backend.dispose();
    const next = await createOnnxBackend({ source: tinySource(), device: 'webgpu' });
    expect(await runTokens(next, PROMPT, 2)).to.deep.equal(expected);
    await next.dispose();
  });

  it('watchdog: a call that does not return in time rejects everything that waits, and the next load works', async () => {
    const load = createOnnxBackend({ source: tinySource(), device: 'webgpu', watchdogMs: 5 });
    const error: unknown = await load.catch((caught: unknown) => caught);
    expect(error).to.have.property('code', 'watchdog');
    const next = await createOnnxBackend({ source: tinySource(), device: 'webgpu' });
    expect(await runTokens(next, PROMPT, 1)).to.have.length(1);
    await next.dispose();
  });
});
