import { expect } from 'chai';
import { createBuiltInSource, TUTOR_GGUF } from '../../models/builtin.ts';
import { backendContract } from '../testing/backend-contract.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';

const PROMPT = [1, 77, 301, 9, 1204, 55, 800, 31, 612, 4, 98];

const make = () =>
  createWebGpuBackend({
    source: createBuiltInSource(new URL('../../../../models/tutor/', import.meta.url)),
    path: TUTOR_GGUF,
    contextTokens: 192,
    maxBatch: 3,
  });

backendContract('webgpu, tutor', make, { promptTokens: PROMPT, timeoutMs: 240_000 });

describe('createWebGpuBackend: tutor', () => {
  it('info: says what was loaded', async () => {
    const phases = new Set<string>();
    let last = 0;
    const backend = await createWebGpuBackend({
      source: createBuiltInSource(new URL('../../../../models/tutor/', import.meta.url)),
      path: TUTOR_GGUF,
      contextTokens: 64,
      maxBatch: 1,
      onProgress: ({ phase, loadedBytes, totalBytes }) => {
        phases.add(phase);
        expect(loadedBytes).to.be.within(last, totalBytes!);
        last = loadedBytes;
      },
    });
    try {
      expect([...phases]).to.deep.equal(['download', 'compile', 'ready']);
      expect(backend.info.model).to.include({ architecture: 'llama', quantization: 'Q4_0', contextTokens: 64 });
      expect(backend.info.model.fingerprint).to.match(/^[0-9a-f]{64}$/);
    } finally {
      await backend.dispose();
    }
  });

  it('signal: an aborted load rejects with AbortError', async () => {
    const controller = new AbortController();
    const loading = createWebGpuBackend({
      source: createBuiltInSource(new URL('../../../../models/tutor/', import.meta.url)),
      path: TUTOR_GGUF,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    const error: unknown = await loading.catch((caught: unknown) => caught);
    expect(error).to.have.property('name', 'AbortError');
  });
});
