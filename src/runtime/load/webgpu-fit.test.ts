import { expect } from 'chai';
import { countGpuCalls, type GpuCallCounter } from '../bench/gpu-calls.ts';
import { createLocalEngine } from './create-local-engine.ts';
import { readGgufHeader } from '../models/gguf/read-header.ts';
import type { ModelSource } from '../models/source.ts';
import { makeSyntheticGguf, SHAPES, syntheticGgufChunks } from '../models/testing/synthetic-model.ts';
import { continueSequence, sequenceOptions } from '../backends/testing/run-tokens.ts';
import { createWebGpuBackend, type WebGpuBackendOptions } from '../backends/webgpu/create-webgpu-backend.ts';
import { memorySource } from '../models/testing/memory-source.ts';

const PIECE_BYTES = 4096;

/** What a load that is refused said, and what it did before. */
interface Refusal {
  code: string;
  message: string;
  details: Record<string, number | string | undefined>;
}

describe('webgpu backend: what does not fit', () => {
  const file = makeSyntheticGguf({ ...SHAPES.tiny, architecture: 'llama', quantization: 'Q4_0' });
  let counter: GpuCallCounter;

  before(() => {
    counter = countGpuCalls();
  });

  after(() => counter.uninstall());

  /** Loads, expects to be refused before anything was allocated or more than the header was read. */
  const refused = async (options: Partial<WebGpuBackendOptions>): Promise<Refusal> => {
    const watched = countBytes(memorySource(file, PIECE_BYTES));
    const before = counter.read();
    const error: unknown = await createWebGpuBackend({ source: watched.source, path: 'model.gguf', ...options }).then(
      (backend) => backend.dispose(),
      (caught: unknown) => caught,
    );
    expect(counter.read()).to.include({ createBuffer: before.createBuffer, createPipeline: before.createPipeline });
    const { dataOffset } = await readGgufHeader(file);
    // The piece that the header ends in, and those that streams on the way take ahead.
    expect(watched.bytes()).to.be.lessThan(dataOffset + 4 * PIECE_BYTES);
    expect(watched.isCancelled()).to.equal(true);
    return error as Refusal;
  };

  it('memoryBudgetBytes: weights that are larger are refused from the header', async () => {
    const memoryBudgetBytes = 100_000;
    const { code, message, details } = await refused({ memoryBudgetBytes });
    expect(code).to.equal('model-too-large');
    expect(message).to.match(/^Cannot load synthetic: it needs \d+ MB .* and this device gives \d+ MB;/);
    expect(details).to.include({ model: 'synthetic', availableBytes: memoryBudgetBytes, limit: 'memory' });
    expect(details['neededBytes']).to.be.greaterThan(memoryBudgetBytes);
  });

  it('memoryBudgetBytes: a smaller model of the catalog is named', async () => {
    const memoryBudgetBytes = 250e6;
    const chunks = syntheticGgufChunks({ ...SHAPES['qwen2-0.5b'], architecture: 'qwen2', quantization: 'Q4_0' });
    const stream = new ReadableStream<Uint8Array>({
      // The header comes first; nothing after it may be made.
      pull: (controller) => controller.enqueue(chunks.next().value as Uint8Array),
    });
    const source: ModelSource = { id: 'large', kind: 'file', open: () => Promise.resolve({ stream }) };
    const loading = createWebGpuBackend({ source, path: 'model.gguf', memoryBudgetBytes });
    const error = await loading.catch((caught: unknown) => caught as Refusal);
    expect(error).to.have.property('code', 'model-too-large');
    expect(error).to.have.nested.property('details.smallerModel', 'smollm2-135m');
    expect(error).to.have.property('message').that.includes('take "smollm2-135m" instead');
  });

  it('contextTokens: a context that does not fit is refused from the header, with the largest that would', async () => {
    const memoryBudgetBytes = 5_000_000;
    const { code, details } = await refused({ memoryBudgetBytes, contextTokens: 2048, maxBatch: 1 });
    expect(code).to.equal('model-too-large');
    expect(details['neededBytes']).to.be.greaterThan(memoryBudgetBytes);
    const largest = Number(details['largestContextTokens']);
    expect(largest).to.be.within(32, 2047);
    // It is no empty promise: that context loads, and takes no more than what was said to be there.
    const backend = await createWebGpuBackend({
      source: memorySource(file),
      path: 'model.gguf',
      memoryBudgetBytes,
      contextTokens: largest,
      maxBatch: 1,
    });
    expect(backend.liveGpuBytes).to.be.at.most(memoryBudgetBytes);
    await backend.dispose();
  });

  it('createLocalEngine: the memory that the browser tells is the budget', async () => {
    Object.defineProperty(navigator, 'deviceMemory', { value: 2 ** -13, configurable: true });
    try {
      const model = { files: [new File([file], 'model.gguf')] };
      const error: unknown = await createLocalEngine({ model, engine: 'webgpu' }).catch((caught: unknown) => caught);
      expect(error).to.have.property('code', 'model-too-large');
      expect(error).to.have.nested.property('details.availableBytes', 2 ** 17);
    } finally {
      Reflect.deleteProperty(navigator, 'deviceMemory');
    }
  });

  it('maxStorageBufferBindingSize: a vocabulary matrix above it is split by rows, with the same results', async () => {
    const sizes = { layers: 1, hidden: 64, heads: 2, kvHeads: 1, ffn: 96, vocab: 2048 } as const;
    for (const tied of [false, true]) {
      const gguf = makeSyntheticGguf({ ...sizes, architecture: 'llama', quantization: 'Q8_0', tied });
      const whole = await logprobsOf(gguf);
      // 2048 rows of 4 units of 18 bytes, in five parts.
      const parts = await withBindingLimit(2048 * 72 * 0.23, () => logprobsOf(gguf));
      expect(parts.dispatches - whole.dispatches, 'output parts, embedding parts').to.equal(4 + 4);
      expect(parts.logprobs).to.deep.equal(whole.logprobs);
    }
  });

  it('maxStorageBufferBindingSize: another matrix above it is refused from the header', async () => {
    const { code, message, details } = await withBindingLimit(100_000, () => refused({}));
    expect(code).to.equal('model-too-large');
    expect(message).to.contain('its largest matrix takes');
    expect(details).to.include({ limit: 'buffer', availableBytes: 100_000 });
  });
});

/** Top log-probabilities of a few positions, and dispatches of a decode step. */
async function logprobsOf(gguf: Uint8Array<ArrayBuffer>) {
  const backend = await createWebGpuBackend({
    source: memorySource(gguf),
    path: 'model.gguf',
    contextTokens: 32,
    maxBatch: 1,
  });
  const sequence = backend.openSequence(sequenceOptions({}, 20));
  // From every part of the vocabulary.
  const rows = await continueSequence(backend, sequence, [3, 500, 900, 1300, 1700, 2047], 4);
  const { trace } = await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
  await backend.dispose();
  return { logprobs: rows.map(({ topLogprobs }) => topLogprobs!), dispatches: trace.dispatches! };
}

/** Devices made by `body` say that they bind no more than this. */
async function withBindingLimit<T>(bytes: number, body: () => Promise<T>): Promise<T> {
  const requestDevice = Reflect.get(GPUAdapter.prototype, 'requestDevice');
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await requestDevice.apply(this, args);
    const { limits } = device;
    const lowered = new Proxy(limits, {
      get: (_, name) =>
        name === 'maxStorageBufferBindingSize' ? Math.floor(bytes) : (Reflect.get(limits, name) as unknown),
    });
    Object.defineProperty(device, 'limits', { value: lowered });
    return device;
  };
  try {
    return await body();
  } finally {
    GPUAdapter.prototype.requestDevice = requestDevice;
  }
}

/** A source that tells what was taken from it. */
function countBytes(source: ModelSource): { source: ModelSource; bytes(): number; isCancelled(): boolean } {
  let bytes = 0;
  let cancelled = false;
  return {
    bytes: () => bytes,
    isCancelled: () => cancelled,
    source: {
      ...source,
      open: async (path, options) => {
        const opened = await source.open(path, options);
        const reader = opened.stream.getReader();
        const stream = new ReadableStream<Uint8Array>({
          async pull(controller) {
            const { value, done } = await reader.read();
            if (done) controller.close();
            else {
              bytes += value.length;
              controller.enqueue(value);
            }
          },
          async cancel() {
            cancelled = true;
            await reader.cancel();
          },
        });
        return { ...opened, stream };
      },
    },
  };
}
