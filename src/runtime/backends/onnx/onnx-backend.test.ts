import { expect } from 'chai';
import { backendContract } from '../testing/backend-contract.ts';
import { continueSequence, runTokens, sequenceOptions } from '../testing/run-tokens.ts';
import { createOnnxBackend, type OnnxBackendOptions } from './create-onnx-backend.ts';
import type { OnnxBackend } from './onnx-backend.ts';
import { TINY, tinySource } from './testing/tiny-model.ts';

const PROMPT = [5, 17, 60, 3, 91, 44, 8, 29, 70, 12, 33, 50];
const LONG_PROMPT = Array.from({ length: 45 }, (_, index) => (index * 37 + 11) % TINY.vocab);

const make = (options: Partial<OnnxBackendOptions> = {}): Promise<OnnxBackend> =>
  createOnnxBackend({ source: tinySource(), device: 'wasm', ...options });

backendContract('onnx-wasm', make, { promptTokens: PROMPT });

describe('OnnxBackend on WASM', () => {
  let backend: OnnxBackend;
  before(async () => {
    backend = await make();
  });
  after(() => backend.dispose());

  it('info: sizes are those of the file', () => {
    const { model, capabilities, threads } = backend.info;
    const { vocab, hidden, heads, kvHeads, headDim, inner, layers, context } = TINY;
    const perLayer = hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * inner + 2 * hidden;
    const matrices = layers * perLayer + hidden + vocab * hidden;
    expect(model).to.include({ layers, hiddenSize: hidden, heads, kvHeads, headDim, vocabSize: vocab });
    expect(model).to.include({ architecture: 'llama', quantization: 'q4', contextTokens: context });
    expect(model.parameters).to.equal(matrices + vocab * hidden);
    expect(model.kvBytesPerToken).to.equal(2 * layers * kvHeads * headDim * 4);
    expect(model.fingerprint).to.match(/^sha256:[0-9a-f]{64}$/);
    expect(capabilities).to.include({ runAhead: 1, kvExport: true });
    expect(threads).to.equal(Math.min(4, navigator.hardwareConcurrency));
  });

  it('info: the fingerprint is that of the weights, not of the load', async () => {
    const other = await make({ threads: 1 });
    expect(other.info.model.fingerprint).to.equal(backend.info.model.fingerprint);
    expect(other.info.threads).to.equal(1);
    await other.dispose();
  });

  it('step: two sequences in one step give what each gives alone', async () => {
    const alone = [await runTokens(backend, PROMPT, 4), await runTokens(backend, LONG_PROMPT, 4)];
    const open = [backend.openSequence(sequenceOptions()), backend.openSequence(sequenceOptions())];
    let result = await backend.step(
      open.map((sequence, index) => ({ sequence, input: [PROMPT, LONG_PROMPT][index]!, sample: true, isPrompt: true })),
    );
    const made = result.rows.map(({ token }) => [token]);
    for (let count = 1; count < 4; count++) {
      result = await backend.step(
        open.map((sequence) => ({ sequence, input: 'previous', sample: true, isPrompt: false }) as const),
      );
      result.rows.forEach(({ token }, index) => made[index]!.push(token));
    }
    expect(result.trace).to.include({ batch: 2, tokens: 2, contextTokens: LONG_PROMPT.length + 3 });
    expect(made).to.deep.equal(alone);
    for (const sequence of open) backend.closeSequence(sequence);
  });

  it('step: a row that overflows the context leaves the other rows undone', async () => {
    const open = [backend.openSequence(sequenceOptions()), backend.openSequence(sequenceOptions())];
    const long = Array.from({ length: 120 }, () => 1);
    for (let round = 0; round < 2; round++)
      await backend.step([{ sequence: open[1]!, input: long, sample: false, isPrompt: true }]);
    const rows = [
      { sequence: open[0]!, input: [1, 2], sample: true, isPrompt: true },
      { sequence: open[1]!, input: long, sample: true, isPrompt: true },
    ];
    const error: unknown = await backend.step(rows).catch((caught: unknown) => caught);
    expect(error).to.have.property('code', 'context-overflow');
    expect(backend.sequenceLength(open[0]!)).to.equal(0);
    expect(backend.sequenceLength(open[1]!)).to.equal(240);
    for (const sequence of open) backend.closeSequence(sequence);
  });

  it('step: ids outside the vocabulary, no ids and unknown sequences are RangeErrors', async () => {
    const sequence = backend.openSequence(sequenceOptions());
    for (const input of [[], [TINY.vocab], [-1], [1.5]]) {
      const error: unknown = await backend
        .step([{ sequence, input, sample: true, isPrompt: true }])
        .catch((caught: unknown) => caught);
      expect(error).to.be.instanceOf(RangeError);
    }
    backend.closeSequence(sequence);
    const closed: unknown = await backend
      .step([{ sequence, input: [1], sample: true, isPrompt: true }])
      .catch((caught: unknown) => caught);
    expect(closed).to.be.instanceOf(RangeError);
  });

  it('exportKv: put into a fresh session it goes on bit for bit, in one block or in three', async () => {
    const source = backend.openSequence(sequenceOptions({}, 5));
    const expected = await continueSequence(backend, source, LONG_PROMPT, 6);
    const blocks = [
      await backend.exportKv(source, 0, 16),
      await backend.exportKv(source, 16, 32),
      await backend.exportKv(source, 32, 44),
    ];
    const whole = await backend.exportKv(source, 0, 44);
    const fresh = await make();
    for (const given of [blocks, [structuredClone(whole)]]) {
      const sequence = fresh.openSequence(sequenceOptions({}, 5));
      await fresh.importKv(sequence, LONG_PROMPT.slice(0, 44), given);
      expect(fresh.sequenceLength(sequence)).to.equal(44);
      const again = await continueSequence(fresh, sequence, LONG_PROMPT.slice(44), 6);
      // Log-probabilities too: equal tokens could hide small differences. The first row was computed among 45, so it may differ in rounding.
      expect(again.map(({ token }) => token)).to.deep.equal(expected.map(({ token }) => token));
      const exported = await fresh.exportKv(sequence, 0, 44);
      expect(exported.tensors).to.deep.equal(whole.tensors);
      fresh.closeSequence(sequence);
    }
    await fresh.dispose();
    backend.closeSequence(source);
  });

  it('importKv: decode steps after it are equal to the last bit to those of the first session', async () => {
    const source = backend.openSequence(sequenceOptions({}, 20));
    const [first] = await continueSequence(backend, source, LONG_PROMPT, 1);
    const block = await backend.exportKv(source);
    const decode = async (owner: OnnxBackend, sequence: number): Promise<unknown[]> => {
      const rows = [];
      let input = first!.token!;
      for (let count = 0; count < 5; count++) {
        const row = (await owner.step([{ sequence, input: [input], sample: true, isPrompt: false }])).rows[0]!;
        rows.push([row.token, row.logprob, row.topLogprobs]);
        input = row.token!;
      }
      return rows;
    };
    const expected = await decode(backend, source);
    const fresh = await make();
    const sequence = fresh.openSequence(sequenceOptions({}, 20));
    await fresh.importKv(sequence, LONG_PROMPT, [block]);
    expect(await decode(fresh, sequence)).to.deep.equal(expected);
    await fresh.dispose();
    backend.closeSequence(source);
  });

  it('importKv: blocks with a gap, of another model or for other tokens are RangeErrors', async () => {
    const source = backend.openSequence(sequenceOptions());
    await continueSequence(backend, source, PROMPT, 1);
    const block = await backend.exportKv(source, 0, 8);
    const later = await backend.exportKv(source, 9, 12);
    const sequence = backend.openSequence(sequenceOptions());
    const bad = [
      { tokens: PROMPT, blocks: [block, later] },
      { tokens: PROMPT.slice(0, 7), blocks: [block] },
      { tokens: PROMPT.slice(0, 8), blocks: [{ ...block, type: 'float16' as const }] },
      { tokens: PROMPT.slice(0, 8), blocks: [{ ...block, tensors: block.tensors.slice(1) }] },
    ];
    for (const { tokens, blocks } of bad) {
      const error: unknown = await backend.importKv(sequence, tokens, blocks).catch((caught: unknown) => caught);
      expect(error).to.be.instanceOf(RangeError);
    }
    expect(backend.sequenceLength(sequence)).to.equal(0);
    backend.closeSequence(source);
    backend.closeSequence(sequence);
  });

  it('createOnnxBackend: external data and position_ids give the tokens of the model without', async () => {
    const expected = await runTokens(backend, PROMPT, 8);
    for (const source of [tinySource({ split: true }), tinySource({ positionIds: true })]) {
      const other = await make({ source });
      expect(await runTokens(other, PROMPT, 8)).to.deep.equal(expected);
      expect(other.info.model.parameters).to.equal(backend.info.model.parameters);
      expect(other.info.model.weightBytes).to.equal(backend.info.model.weightBytes);
      await other.dispose();
    }
  });

  it('createOnnxBackend: KV and logits in f16 work, are half the size, and go through an export unchanged', async () => {
    const half = await make({ source: tinySource({ half: true }), dtype: 'q4f16' });
    expect(half.info.model).to.include({
      quantization: 'q4f16',
      kvBytesPerToken: backend.info.model.kvBytesPerToken / 2,
    });
    const sequence = half.openSequence(sequenceOptions({}, 20));
    const rows = await continueSequence(half, sequence, PROMPT, 4);
    const block = await half.exportKv(sequence, 0, PROMPT.length);
    expect(block.type).to.equal('float16');
    // The same weights in f32: f16 keeps three digits.
    const wide = backend.openSequence(sequenceOptions({}, 20));
    const [first] = await continueSequence(backend, wide, PROMPT, 1);
    expect(rows[0]!.token).to.equal(first!.token);
    expect(rows[0]!.logprob).to.be.closeTo(first!.logprob!, 0.02);
    backend.closeSequence(wide);
    const again = half.openSequence(sequenceOptions({}, 20));
    await half.importKv(again, PROMPT, [block]);
    const row = { sequence: again, input: [rows[0]!.token!], sample: true, isPrompt: false };
    const { token, topLogprobs } = (await half.step([row])).rows[0]!;
    expect({ token, topLogprobs }).to.deep.equal({ token: rows[1]!.token, topLogprobs: rows[1]!.topLogprobs });
    half.truncate(again, PROMPT.length - 3);
    const rest = await continueSequence(half, again, PROMPT.slice(-3), 4);
    expect(rest.map((made) => made.token)).to.deep.equal(rows.map((made) => made.token));
    await half.dispose();
  });
});
