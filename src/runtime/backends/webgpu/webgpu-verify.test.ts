import { expect } from 'chai';
import type { StepTrace } from '../../../shared/trace.ts';
import { makeSyntheticGguf, SHAPES } from '../../models/testing/synthetic-model.ts';
import { continueSequence, sequenceOptions } from '../testing/run-tokens.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';
import { memorySource } from '../../models/testing/memory-source.ts';

describe('webgpu backend: steps that verify drafts', () => {
  for (const chunks of ['rows', 'tiled'] as const)
    it(`step: 2 to 8 rows of one sequence take the same dispatches and read the weights once (chunks: ${chunks})`, async () => {
      const gguf = makeSyntheticGguf({ ...SHAPES.tiny, architecture: 'llama', quantization: 'Q4_0' });
      const backend = await createWebGpuBackend({
        source: memorySource(gguf),
        path: 'model.gguf',
        contextTokens: 96,
        maxBatch: 1,
        chunks,
      });
      const { layers } = backend.info.model;
      const sequence = backend.openSequence(sequenceOptions({ frequencyPenalty: 0.5 }));
      await continueSequence(backend, sequence, [5, 6, 7], 1);
      const decode = (await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }])).trace;
      const traces: StepTrace[] = [];
      for (let rows = 2; rows <= 8; rows++) {
        const input = Array.from({ length: rows }, (_, i) => 10 + i);
        const result = await backend.step([{ sequence, input, sample: 'each', isPrompt: false }]);
        expect(result.rows[0]!.tokens).to.have.length(rows);
        traces.push(result.trace);
        backend.truncate(sequence, backend.sequenceLength(sequence) - rows + 1);
      }
      // Keys and values of all rows come first, then attention: one dispatch a layer more than a row alone takes.
      for (const { dispatches } of traces) expect(dispatches).to.equal(decode.dispatches! + layers);
      const rowBytes = (traces.at(-1)!.bytes!.weights - traces[0]!.bytes!.weights) / 6;
      expect(traces.at(-1)!.bytes!.weights - 7 * rowBytes, 'but for the embedding of each row').to.equal(
        decode.bytes!.weights,
      );
      expect(rowBytes).to.be.lessThan(decode.bytes!.weights / 50);
      await backend.dispose();
    });
});
