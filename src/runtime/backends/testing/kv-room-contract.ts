import { expect } from 'chai';
import type { Backend } from '../backend.ts';
import { continueSequence, sequenceOptions } from './run-tokens.ts';

/** The part of the Backend contract on setting KV aside. */
export function describeKvRoom({
  shared,
  prompt,
  greedy,
}: {
  shared: () => Backend;
  prompt: readonly number[];
  /** What follows the prompt. */
  greedy: () => readonly number[];
}): void {
  it('reserveKv: changes nothing of what a sequence is, asked for once, again, or more than is used', async () => {
    const backend = shared();
    const sequence = backend.openSequence(sequenceOptions());
    const tokens = prompt.length + greedy().length;
    expect(backend.reserveKv(sequence, tokens)).to.equal(true);
    expect(backend.reserveKv(sequence, tokens)).to.equal(true);
    expect(backend.sequenceLength(sequence)).to.equal(0);
    const rows = await continueSequence(backend, sequence, prompt, greedy().length);
    expect(rows.map(({ token }) => token)).to.deep.equal(greedy());
    expect(backend.reserveKv(sequence, 1)).to.equal(true);
    backend.closeSequence(sequence);
  });

  it('reserveKv: alone, a sequence finds room for a whole context, each time, and no more than that', () => {
    const backend = shared();
    const { contextTokens } = backend.info.model;
    for (let round = 0; round < 4; round++) {
      const sequence = backend.openSequence(sequenceOptions());
      expect(backend.reserveKv(sequence, contextTokens)).to.equal(true);
      expect(() => backend.reserveKv(sequence, contextTokens + 1)).to.throw(RangeError);
      backend.closeSequence(sequence);
    }
    expect(() => backend.reserveKv(987_654_321, 1)).to.throw(RangeError);
  });

  it('reserveKv: truncation gives back what was set aside beyond, and the sequence goes on right', async () => {
    const backend = shared();
    const sequence = backend.openSequence(sequenceOptions());
    await continueSequence(backend, sequence, prompt, 1);
    expect(backend.reserveKv(sequence, backend.info.model.contextTokens - prompt.length)).to.equal(true);
    backend.truncate(sequence, prompt.length - 2);
    const rows = await continueSequence(backend, sequence, prompt.slice(-2), greedy().length);
    expect(rows.map(({ token }) => token)).to.deep.equal(greedy());
    backend.closeSequence(sequence);
  });
}

/**
 * What a backend whose sequences share too little KV says: one of two contexts at most has room.
 * @param make a backend of at least two slots whose pool holds less than two contexts
 */
export function kvRoomContract(name: string, make: () => Promise<Backend>, prompt: readonly number[]): void {
  describe(`KV room: ${name}`, function () {
    this.timeout(120_000);

    it('reserveKv: false where others leave no room, nothing is set aside then, and room that is given back is there', async () => {
      const backend = await make();
      const { contextTokens } = backend.info.model;
      const [first, second] = [backend.openSequence(sequenceOptions()), backend.openSequence(sequenceOptions())];
      expect(backend.reserveKv(first, contextTokens)).to.equal(true);
      for (let round = 0; round < 3; round++) expect(backend.reserveKv(second, contextTokens)).to.equal(false);
      backend.truncate(first, 0);
      expect(backend.reserveKv(second, contextTokens)).to.equal(true);
      expect(backend.reserveKv(first, contextTokens)).to.equal(false);
      const error: unknown = await continueSequence(backend, first, filled(prompt, contextTokens), 1).catch(
        (caught: unknown) => caught,
      );
      expect(error, 'a step beyond what is set aside').to.have.property('code', 'context-overflow');
      backend.closeSequence(second);
      backend.truncate(first, 0);
      const rows = await continueSequence(backend, first, prompt, 2);
      expect(rows).to.have.length(2);
      await backend.dispose();
    });
  });
}

const filled = (prompt: readonly number[], length: number): number[] =>
  Array.from({ length }, (_, index) => prompt[index % prompt.length]!);
