import { expect } from 'chai';
import type { SamplingParams } from '../../../shared/generation.ts';
import type { Backend, StepRow } from '../backend.ts';
import { describeLifetime } from './backend-lifetime.ts';
import { continueSequence, runTokens, sequenceOptions } from './run-tokens.ts';
import { describeVerification } from './verify-contract.ts';

/** What the suite feeds to a backend. */
export interface BackendContractOptions {
  /** A prompt of its model's vocabulary, 8 tokens or more. */
  promptTokens: readonly number[];
  /** Another one, of another length. @default the first one without its last three tokens, reversed */
  otherPromptTokens?: readonly number[];
  /** Tokens to sample in each test. @default 8 */
  tokens?: number;
  /** Of each test; a slow backend says more. @default 60000 */
  timeoutMs?: number;
  /** False where filling the whole context takes too long; that test is then shown as skipped. @default true */
  fillsContext?: boolean;
}

const SAMPLED: SamplingParams = { temperature: 1.5, topP: 0.95, topK: 50, seed: 1234 };

/**
 * The promises of {@link Backend}, checked on one backend made by `make` (and on a few fresh ones for what ends a backend). Sampled
 * tokens of a position must depend on the tokens, parameters and seed of their sequence alone.
 *
 * @example
 * ```ts
 * backendContract('onnx-wasm', () => createOnnxBackend({ device: 'wasm', source }), { promptTokens: [1, 2, 3, 4, 5, 6, 7, 8] });
 * ```
 */
export function backendContract(name: string, make: () => Promise<Backend>, options: BackendContractOptions): void {
  const { promptTokens: prompt, tokens: count = 8 } = options;
  const other = options.otherPromptTokens ?? prompt.slice(0, -3).reverse();

  describe(`Backend contract: ${name}`, function () {
    this.timeout(options.timeoutMs ?? 60_000);
    let backend: Backend;
    let greedy: number[];
    before(async () => {
      backend = await make();
      greedy = await runTokens(backend, prompt, count);
    });
    after(() => backend.dispose());

    it('step: greedy tokens are in the vocabulary and the same each time', async () => {
      expect(greedy).to.have.length(count);
      for (const id of greedy) expect(id).to.be.within(0, backend.info.model.vocabSize - 1);
      expect(await runTokens(backend, prompt, count)).to.deep.equal(greedy);
    });

    for (const chunk of [1, 3, 7])
      it(`step: a prefill in chunks of ${chunk} gives the tokens of one chunk`, async () => {
        const size = Math.min(chunk, backend.info.capabilities.maxStepTokens);
        expect(await runTokens(backend, prompt, count, {}, { chunk: size })).to.deep.equal(greedy);
      });

    it("step: 'previous' is the sampled token given back by its id", async () => {
      expect(await runTokens(backend, prompt, count, {}, { explicit: true })).to.deep.equal(greedy);
    });

    it('step: as many steps in flight as it allows give the tokens of one at a time', async () => {
      const { runAhead } = backend.info.capabilities;
      expect(await runTokens(backend, prompt, count, {}, { runAhead })).to.deep.equal(greedy);
      expect(await runTokens(backend, prompt, count, {}, { runAhead, chunk: 3 })).to.deep.equal(greedy);
      const sampled = await runTokens(backend, prompt, count, SAMPLED);
      expect(await runTokens(backend, prompt, count, SAMPLED, { runAhead })).to.deep.equal(sampled);
    });

    it('step: seeded sampling repeats, also in chunks, and another seed gives other tokens', async () => {
      const sampled = await runTokens(backend, prompt, count, SAMPLED);
      expect(await runTokens(backend, prompt, count, SAMPLED, { chunk: 3 })).to.deep.equal(sampled);
      const others = [];
      for (const seed of [1, 2, 3, 4])
        others.push(await runTokens(backend, prompt, count, { ...SAMPLED, temperature: 5, topK: 0, topP: 1, seed }));
      expect(new Set(others.map(String)).size).to.be.greaterThan(1);
    });

    it('step: a banned token is not sampled, and a bias of all but one token forces it', async () => {
      const first = greedy[0]!;
      expect((await runTokens(backend, prompt, count, { logitBias: { [first]: -100 } }))[0]).not.to.equal(first);
      expect(await runTokens(backend, prompt, 3, { logitBias: { [first]: -Infinity } })).not.to.include(first);
    });

    it('step: rows that are refused change nothing, not even the other rows of their step', async () => {
      const { capabilities, model } = backend.info;
      const sequence = backend.openSequence(sequenceOptions());
      const beside = backend.openSequence(sequenceOptions());
      await continueSequence(backend, sequence, prompt, 1);
      const good: StepRow = { sequence: beside, input: prompt.slice(0, 2), sample: true, isPrompt: true };
      const bad: Partial<StepRow>[] = [
        { input: [] },
        { input: [model.vocabSize] },
        { input: [-1] },
        { input: [0.5] },
        { input: 'previous', sample: 'each' },
        ...(capabilities.grammarMask ? [{ mask: new Uint32Array(1) }, { mask: new Uint32Array(0) }] : []),
      ];
      for (const wrong of bad) {
        const row: StepRow = { sequence, input: 'previous', sample: true, isPrompt: false, ...wrong };
        const rows = capabilities.maxBatch > 1 ? [good, row] : [row];
        const error: unknown = await (async () => backend.step(rows))().catch((reason: unknown) => reason);
        expect(error, JSON.stringify(wrong)).to.be.instanceOf(Error);
        expect(backend.sequenceLength(sequence), JSON.stringify(wrong)).to.equal(prompt.length);
        expect(backend.sequenceLength(beside), JSON.stringify(wrong)).to.equal(0);
      }
      const { rows } = await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
      expect(rows[0]!.token).to.equal(greedy[1]);
      backend.closeSequence(sequence);
      backend.closeSequence(beside);
    });

    it('step: a step without a sample gives no token, and the next one does', async () => {
      const sequence = backend.openSequence(sequenceOptions());
      const size = Math.min(4, backend.info.capabilities.maxStepTokens);
      const row = { sequence, input: prompt.slice(0, size), sample: false, isPrompt: true };
      const { rows, trace } = await backend.step([row]);
      expect(rows).to.have.length(1);
      expect(rows[0]!.sequence).to.equal(sequence);
      expect(rows[0]!.token).to.equal(undefined);
      expect(trace).to.include({ kind: 'prefill', batch: 1, tokens: size, contextTokens: size });
      expect(trace.timing.totalMs).to.be.at.least(0);
      const rest = await continueSequence(backend, sequence, prompt.slice(size), count);
      expect(rest.map(({ token }) => token)).to.deep.equal(greedy);
      backend.closeSequence(sequence);
    });

    it('sequenceLength: counts what was appended and not the token that was sampled', async () => {
      const sequence = backend.openSequence(sequenceOptions());
      expect(backend.sequenceLength(sequence)).to.equal(0);
      await continueSequence(backend, sequence, prompt, 1);
      expect(backend.sequenceLength(sequence)).to.equal(prompt.length);
      const step = backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
      expect(backend.sequenceLength(sequence), 'steps in flight included').to.equal(prompt.length + 1);
      const { trace } = await step;
      expect(trace).to.include({ kind: 'decode', batch: 1, tokens: 1, contextTokens: prompt.length + 1 });
      backend.closeSequence(sequence);
    });

    for (const [kind, sampling] of [
      ['greedy', {}],
      ['sampled', SAMPLED],
      ['penalised', { repetitionPenalty: 1.3, frequencyPenalty: 0.7, presencePenalty: 0.4 }],
    ] as const)
      it(`truncate: going on after it gives the tokens of a fresh sequence (${kind})`, async () => {
        const fresh = await runTokens(backend, prompt, count, sampling);
        const sequence = backend.openSequence(sequenceOptions(sampling));
        await continueSequence(backend, sequence, prompt, count);
        const kept = prompt.length - 2;
        backend.truncate(sequence, kept);
        expect(backend.sequenceLength(sequence)).to.equal(kept);
        const again = await continueSequence(backend, sequence, prompt.slice(kept), count);
        expect(again.map(({ token }) => token)).to.deep.equal(fresh);
        backend.closeSequence(sequence);
      });

    it('truncate: drops what a step that ran ahead appended, also one in flight', async () => {
      const sequence = backend.openSequence(sequenceOptions());
      await continueSequence(backend, sequence, prompt, 3);
      const ahead = backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
      backend.truncate(sequence, prompt.length + 1);
      await ahead;
      expect(backend.sequenceLength(sequence)).to.equal(prompt.length + 1);
      const row = { sequence, input: [greedy[1]!], sample: true, isPrompt: false };
      expect((await backend.step([row])).rows[0]!.token).to.equal(greedy[2]);
      backend.closeSequence(sequence);
    });

    it('truncate: above the length is a RangeError', async () => {
      const sequence = backend.openSequence(sequenceOptions());
      await continueSequence(backend, sequence, prompt, 1);
      expect(() => backend.truncate(sequence, prompt.length + 1)).to.throw(RangeError);
      backend.closeSequence(sequence);
    });

    it('step: two sequences, step by step in turn, give what each gives alone', async () => {
      const alone = [greedy, await runTokens(backend, other, count, SAMPLED)];
      const first = backend.openSequence(sequenceOptions());
      const second = backend.openSequence(sequenceOptions(SAMPLED));
      const made = [];
      for (const [index, sequence] of [first, second].entries())
        made.push((await continueSequence(backend, sequence, [prompt, other][index]!, 1)).map(({ token }) => token!));
      for (let position = 1; position < count; position++) {
        for (const [index, sequence] of [first, second].entries()) {
          const { rows } = await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
          made[index]!.push(rows[0]!.token!);
        }
      }
      expect(made).to.deep.equal(alone);
      backend.closeSequence(first);
      backend.closeSequence(second);
    });

    it('step: two sequences in one step give what each gives alone', async function () {
      if (backend.info.capabilities.maxBatch < 2) this.skip();
      const alone = [greedy, await runTokens(backend, other, count, SAMPLED)];
      const open = [backend.openSequence(sequenceOptions()), backend.openSequence(sequenceOptions(SAMPLED))];
      const made = [];
      for (const [index, sequence] of open.entries())
        made.push((await continueSequence(backend, sequence, [prompt, other][index]!, 1)).map(({ token }) => token!));
      for (let position = 1; position < count; position++) {
        const rows = open.map((sequence) => ({ sequence, input: 'previous', sample: true, isPrompt: false }) as const);
        const result = await backend.step(rows);
        expect(result.rows.map(({ sequence }) => sequence)).to.deep.equal(open);
        expect(result.trace.batch).to.equal(2);
        for (const [index, row] of result.rows.entries()) made[index]!.push(row.token!);
      }
      expect(made).to.deep.equal(alone);
      for (const sequence of open) backend.closeSequence(sequence);
    });

    it('logprobs: the greedy token is the most likely one, in order and below zero', async function () {
      const wanted = Math.min(3, backend.info.capabilities.logprobs);
      if (wanted === 0) this.skip();
      const sequence = backend.openSequence(sequenceOptions({}, wanted));
      const rows = await continueSequence(backend, sequence, prompt, count);
      backend.closeSequence(sequence);
      expect(rows.map(({ token }) => token)).to.deep.equal(greedy);
      for (const { token, logprob, topLogprobs } of rows) {
        expect(topLogprobs).to.have.length(wanted);
        expect(topLogprobs![0]!.id).to.equal(token);
        expect(topLogprobs![0]!.logprob).to.be.closeTo(logprob!, 1e-5);
        const values = topLogprobs!.map((entry) => entry.logprob);
        expect(values).to.deep.equal([...values].sort((a, b) => b - a));
        for (const value of values) expect(value).to.be.at.most(0);
        expect(values.reduce((sum, value) => sum + Math.exp(value), 0)).to.be.at.most(1 + 1e-5);
      }
    });

    it('logprobs: none unless asked for, and more than it can is refused', async () => {
      const sequence = backend.openSequence(sequenceOptions());
      const [row] = await continueSequence(backend, sequence, prompt, 1);
      backend.closeSequence(sequence);
      expect(row).not.to.have.any.keys('logprob', 'topLogprobs');
      const tooMany = backend.info.capabilities.logprobs + 1;
      expect(() => backend.openSequence(sequenceOptions({}, tooMany)))
        .to.throw()
        .with.property('code', 'unsupported');
    });

    describeVerification({ shared: () => backend, prompt, other, count });

    describeLifetime({
      make,
      shared: () => backend,
      prompt,
      greedy: () => greedy,
      fillsContext: options.fillsContext ?? true,
    });
  });
}
