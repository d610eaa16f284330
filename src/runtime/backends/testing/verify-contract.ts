import { expect } from 'chai';
import type { SamplingParams } from '../../../shared/generation.ts';
import type { Backend, SampledToken, SequenceId, StepRow } from '../backend.ts';
import { continueSequence, runTokens, sequenceOptions } from './run-tokens.ts';

const KINDS: readonly [string, SamplingParams][] = [
  ['greedy', {}],
  ['sampled', { temperature: 1.5, topP: 0.95, topK: 50, seed: 1234 }],
  ['penalised', { repetitionPenalty: 1.3, frequencyPenalty: 0.7, presencePenalty: 0.4 }],
  ['sampled and penalised', { temperature: 0.8, minP: 0.02, frequencyPenalty: 1.1, seed: 9 }],
];

/** The part of the Backend contract on rows that are sampled at each token. Skipped where a backend cannot. */
export function describeVerification({
  shared,
  prompt,
  other,
  count,
}: {
  /** The backend of the other tests. */
  shared: () => Backend;
  prompt: readonly number[];
  /** Of another sequence in the same step. */
  other: readonly number[];
  /** Tokens that the other tests sample. */
  count: number;
}): void {
  const verify = (sequence: SequenceId, input: readonly number[]): StepRow => ({
    sequence,
    input,
    sample: 'each',
    isPrompt: false,
  });
  /** One token after the other: what is sampled after each, with the sequence's length as it was before. */
  const oneByOne = async (
    backend: Backend,
    sampling: SamplingParams,
    input: readonly number[],
    logprobs = 0,
  ): Promise<SampledToken[]> => {
    const sequence = backend.openSequence(sequenceOptions(sampling, logprobs));
    await continueSequence(backend, sequence, prompt, 1);
    const sampled: SampledToken[] = [];
    for (const id of input) {
      const { rows } = await backend.step([{ sequence, input: [id], sample: true, isPrompt: false }]);
      sampled.push({ ...rows[0], token: rows[0]!.token! });
    }
    backend.closeSequence(sequence);
    return sampled;
  };
  const ids = (tokens: readonly SampledToken[] | undefined): number[] => tokens!.map(({ token }) => token);
  /** Tokens of a row: as many as the tests have, and the backend takes. */
  const width = (backend: Backend): number => Math.min(count - 2, backend.info.capabilities.maxVerifyTokens);

  for (const [kind, sampling] of KINDS)
    it(`step 'each': right drafts in one row give the tokens of one at a time, and 'previous' goes on (${kind})`, async function () {
      const backend = shared();
      if (backend.info.capabilities.maxVerifyTokens === 0) this.skip();
      const alone = await runTokens(backend, prompt, count, sampling);
      for (const tokens of new Set([1, 2, 3, width(backend)])) {
        const sequence = backend.openSequence(sequenceOptions(sampling));
        await continueSequence(backend, sequence, prompt, 1);
        const step = backend.step([verify(sequence, alone.slice(0, tokens))]);
        expect(backend.sequenceLength(sequence)).to.equal(prompt.length + tokens);
        const { rows, trace } = await step;
        expect(rows[0]).to.have.all.keys('sequence', 'tokens');
        expect(ids(rows[0]!.tokens)).to.deep.equal(alone.slice(1, tokens + 1));
        expect(trace).to.include({ kind: 'decode', batch: 1, tokens, contextTokens: prompt.length + tokens });
        const next = await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
        expect(next.rows[0]!.token).to.equal(alone[tokens + 1]);
        backend.closeSequence(sequence);
      }
    });

  for (const [kind, sampling] of KINDS)
    it(`step 'each': whatever the drafts, each token is what one at a time gives, and truncated ones leave no trace (${kind})`, async function () {
      const backend = shared();
      if (backend.info.capabilities.maxVerifyTokens === 0) this.skip();
      const alone = await runTokens(backend, prompt, count, sampling);
      const wrong = prompt[0]!;
      // The same token several times, so that a count that is off by one shows.
      const drafts = [alone[0]!, alone[1]!, wrong, wrong, wrong, prompt[1]!].slice(0, width(backend));
      const sequence = backend.openSequence(sequenceOptions(sampling));
      await continueSequence(backend, sequence, prompt, 1);
      const { rows } = await backend.step([verify(sequence, drafts)]);
      expect(ids(rows[0]!.tokens)).to.deep.equal(ids(await oneByOne(backend, sampling, drafts)));
      const kept = Math.min(2, drafts.length);
      backend.truncate(sequence, prompt.length + kept);
      expect(backend.sequenceLength(sequence)).to.equal(prompt.length + kept);
      const rest = [];
      for (let at = kept; at < count - 1; at++) {
        const step = await backend.step([{ sequence, input: [alone[at]!], sample: true, isPrompt: false }]);
        rest.push(step.rows[0]!.token);
      }
      expect(rest).to.deep.equal(alone.slice(kept + 1));
      backend.closeSequence(sequence);
    });

  it("step 'each': penalties count the drafts before, in the same row", async function () {
    const backend = shared();
    if (backend.info.capabilities.maxVerifyTokens === 0) this.skip();
    const likely = prompt[0]!;
    // It leads by far, and by less with each time that it occurs, until something else does.
    const sampling = { logitBias: { [likely]: 60 }, frequencyPenalty: 25 };
    const drafts = Array.from({ length: width(backend) }, () => likely);
    const sequence = backend.openSequence(sequenceOptions(sampling));
    await continueSequence(backend, sequence, prompt, 1);
    const { rows } = await backend.step([verify(sequence, drafts)]);
    expect(ids(rows[0]!.tokens)).to.deep.equal(ids(await oneByOne(backend, sampling, drafts)));
    backend.closeSequence(sequence);
  });

  it("step 'each': log-probabilities at each token are those of one at a time", async function () {
    const backend = shared();
    const { maxVerifyTokens, logprobs } = backend.info.capabilities;
    if (maxVerifyTokens === 0 || logprobs === 0) this.skip();
    const wanted = Math.min(3, logprobs);
    const drafts = (await runTokens(backend, prompt, count)).slice(0, width(backend));
    const sequence = backend.openSequence(sequenceOptions({}, wanted));
    await continueSequence(backend, sequence, prompt, 1);
    const { rows } = await backend.step([verify(sequence, drafts)]);
    backend.closeSequence(sequence);
    const expected = await oneByOne(backend, {}, drafts, wanted);
    expect(rows[0]!.tokens).to.have.length(drafts.length);
    for (const [index, { token, logprob, topLogprobs }] of rows[0]!.tokens!.entries()) {
      expect(token).to.equal(expected[index]!.token);
      expect(logprob).to.be.closeTo(expected[index]!.logprob!, 1e-3);
      expect(topLogprobs!.map(({ id }) => id)).to.deep.equal(expected[index]!.topLogprobs!.map(({ id }) => id));
    }
  });

  it("step 'each': beside other sequences that verify, decode and prefill, each gives what it gives alone", async function () {
    const backend = shared();
    const { maxVerifyTokens, maxBatch } = backend.info.capabilities;
    if (maxVerifyTokens === 0 || maxBatch < 3) this.skip();
    const [, sampled, penalised] = KINDS.map(([, sampling]) => sampling);
    const alone = [
      await runTokens(backend, prompt, count, penalised),
      await runTokens(backend, other, 3, sampled),
      await runTokens(backend, other, 1),
    ] as const;
    const open = [penalised, sampled, {}].map((sampling) => backend.openSequence(sequenceOptions(sampling)));
    const [first, second, third] = open as [SequenceId, SequenceId, SequenceId];
    await continueSequence(backend, first, prompt, 1);
    await continueSequence(backend, second, other, 1);
    const drafts = alone[0].slice(0, Math.min(3, maxVerifyTokens - 2));
    const { rows, trace } = await backend.step([
      { sequence: second, input: 'previous', sample: true, isPrompt: false },
      verify(first, drafts),
      { sequence: third, input: other.slice(0, -1), sample: false, isPrompt: true },
    ]);
    expect(trace).to.include({ batch: 3, tokens: 1 + drafts.length + other.length - 1 });
    expect(rows.map(({ sequence }) => sequence)).to.deep.equal([second, first, third]);
    expect(rows[0]!.token).to.equal(alone[1][1]);
    expect(ids(rows[1]!.tokens)).to.deep.equal(alone[0].slice(1, drafts.length + 1));
    expect(rows[2]).to.deep.equal({ sequence: third });
    const next = await backend.step([
      verify(first, [alone[0][drafts.length]!]),
      verify(second, [alone[1][1]!]),
      { sequence: third, input: other.slice(-1), sample: true, isPrompt: true },
    ]);
    expect(ids(next.rows[0]!.tokens)).to.deep.equal([alone[0][drafts.length + 1]]);
    expect(ids(next.rows[1]!.tokens)).to.deep.equal([alone[1][2]]);
    expect(next.rows[2]!.token).to.equal(alone[2][0]);
    for (const sequence of open) backend.closeSequence(sequence);
  });

  it("step 'each': of a prompt, of 'previous' or of more tokens than it can is refused, and changes nothing", async function () {
    const backend = shared();
    const { maxVerifyTokens, maxStepTokens } = backend.info.capabilities;
    if (maxVerifyTokens === 0) this.skip();
    const alone = await runTokens(backend, prompt, 2);
    const sequence = backend.openSequence(sequenceOptions());
    await continueSequence(backend, sequence, prompt, 1);
    const tooMany = Array.from({ length: maxVerifyTokens + 1 }, () => prompt[0]!);
    const refused: StepRow[] = [
      { ...verify(sequence, [prompt[0]!]), isPrompt: true },
      { ...verify(sequence, []), input: 'previous' },
      ...(tooMany.length <= maxStepTokens ? [verify(sequence, tooMany)] : []),
    ];
    for (const row of refused) {
      const error: unknown = await backend.step([row]).catch((caught: unknown) => caught);
      expect(error, JSON.stringify(row)).to.be.instanceOf(Error);
      expect(backend.sequenceLength(sequence)).to.equal(prompt.length);
    }
    const { rows } = await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
    expect(rows[0]!.token).to.equal(alone[1]);
    backend.closeSequence(sequence);
  });
}
