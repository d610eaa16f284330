import { expect } from 'chai';
import type { Backend, StepRow } from '../backend.ts';
import { describeKvRoom } from './kv-room-contract.ts';
import { continueSequence, runTokens, sequenceOptions } from './run-tokens.ts';

/** Rounds in which a backend that does not give KV back should run out of it. */
const ROUNDS = 24;

/** The part of the Backend contract on opening, closing, overflowing and ending. */
export function describeLifetime({
  make,
  shared,
  prompt,
  greedy,
  fillsContext,
}: {
  make: () => Promise<Backend>;
  /** The one the other tests use. */
  shared: () => Backend;
  prompt: readonly number[];
  /** What follows the prompt. */
  greedy: () => readonly number[];
  fillsContext: boolean;
}): void {
  describeKvRoom({ shared, prompt, greedy });

  it('closeSequence: gives KV back, ignores unknown ids, and ids are not used again', async () => {
    const backend = shared();
    const seen = new Set<number>();
    for (let round = 0; round < ROUNDS; round++) {
      const sequence = backend.openSequence(sequenceOptions());
      expect(seen.has(sequence)).to.equal(false);
      seen.add(sequence);
      if (round % 8 === 0) await continueSequence(backend, sequence, prompt, 1);
      backend.closeSequence(sequence);
      backend.closeSequence(sequence);
    }
    backend.closeSequence(987_654_321);
    expect(await runTokens(backend, prompt, greedy().length)).to.deep.equal(greedy());
  });

  it('closeSequence: a step in flight still resolves, and the next sequence is right', async () => {
    const backend = shared();
    const sequence = backend.openSequence(sequenceOptions());
    await continueSequence(backend, sequence, prompt, 1);
    const step = backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
    backend.closeSequence(sequence);
    expect((await step).rows).to.have.length(1);
    expect(await runTokens(backend, prompt, greedy().length)).to.deep.equal(greedy());
  });

  it('step: past the context it rejects with context-overflow, and the next sequence is right', async function () {
    if (!fillsContext) this.skip();
    const backend = shared();
    const { contextTokens } = backend.info.model;
    const chunk = backend.info.capabilities.maxStepTokens;
    const tooLong = Array.from({ length: contextTokens + 1 }, (_, index) => prompt[index % prompt.length]!);
    const sequence = backend.openSequence(sequenceOptions());
    // One step suffices where a step takes the whole context; else the last chunk is the one that overflows.
    const error: unknown = await continueSequence(backend, sequence, tooLong, 1, { chunk }).catch(
      (caught: unknown) => caught,
    );
    expect(error).to.have.property('code', 'context-overflow');
    backend.closeSequence(sequence);
    expect(await runTokens(backend, prompt, greedy().length)).to.deep.equal(greedy());
  });

  it('dispose: waits for the step in flight, may be called twice, and afterwards every call fails', async () => {
    const backend = await make();
    const sequence = backend.openSequence(sequenceOptions());
    const row: StepRow = { sequence, input: prompt.slice(0, 4), sample: true, isPrompt: true };
    const step = backend.step([row]);
    const disposals = [backend.dispose(), backend.dispose()];
    expect((await step).rows[0]!.token).to.be.a('number');
    await Promise.all(disposals);
    await backend.dispose();
    const error: unknown = await backend.step([row]).catch((caught: unknown) => caught);
    expect(error).to.be.instanceOf(Error);
    expect(() => backend.openSequence(sequenceOptions())).to.throw();
    backend.closeSequence(sequence);
    const isLost = await Promise.race([backend.lost.then(() => true), Promise.resolve(false)]);
    expect(isLost, 'dispose is no loss').to.equal(false);
  });
}
