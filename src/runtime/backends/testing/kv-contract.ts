import { expect } from 'chai';
import { KV_BLOCK_TOKENS, type Backend, type BackendKv } from '../backend.ts';
import { continueSequence, runTokens, sequenceOptions } from './run-tokens.ts';

export interface KvContractOptions {
  /** Prompt of the tests, at least 100 tokens. */
  promptTokens: readonly number[];
  /** Tokens sampled after it. @default 6 */
  tokens?: number;
}

type KvBackend = Backend & { readonly kv: BackendKv };

/** The promises of {@link BackendKv}, for a backend that exports KV. */
export function kvContract(name: string, make: () => Promise<Backend>, options: KvContractOptions): void {
  describe(`KV contract: ${name}`, function () {
    this.timeout(120_000);
    const prompt = options.promptTokens.slice(0, 100);
    const count = options.tokens ?? 6;
    let backend: KvBackend;
    let cold: number[];
    before(async () => {
      const made = await make();
      expect(made.info.capabilities.kvExport).to.equal(true);
      backend = made as KvBackend;
      cold = await runTokens(backend, prompt, count);
    });
    after(() => backend.dispose());

    /** Computes the prompt and keeps its blocks; the sequence is closed before they are there. */
    const holdPrompt = async (start = 0): Promise<Awaited<ReturnType<BackendKv['hold']>>> => {
      const sequence = backend.openSequence(sequenceOptions());
      await continueSequence(backend, sequence, prompt, 1);
      const holding = backend.kv.hold(sequence, start, 3);
      backend.closeSequence(sequence);
      return holding;
    };

    /** Tokens after the prompt, of which `blocks` are given back. */
    const goOn = async (
      blocks: Parameters<BackendKv['restore']>[2],
      sampling: Parameters<typeof sequenceOptions>[0] = {},
      promptTokens = blocks.length * KV_BLOCK_TOKENS,
    ): Promise<{ ids: number[]; held: Awaited<ReturnType<BackendKv['restore']>> }> => {
      const sequence = backend.openSequence(sequenceOptions(sampling));
      const known = blocks.length * KV_BLOCK_TOKENS;
      const held = await backend.kv.restore(sequence, prompt.slice(0, known), blocks, promptTokens);
      expect(backend.sequenceLength(sequence)).to.equal(known);
      const rows = await continueSequence(backend, sequence, prompt.slice(known), count);
      backend.closeSequence(sequence);
      return { ids: rows.map(({ token }) => token!), held };
    };

    it('restore: held blocks, one or more of them, go on with the tokens of a cold start', async () => {
      const held = await holdPrompt();
      expect(held).to.have.length(3);
      const ends = [1, 2, 3].filter((blocks) => held[blocks - 1]!.resumes !== false);
      expect(ends, 'the last block of a prompt').to.include(3);
      for (const blocks of ends) expect((await goOn(held.slice(0, blocks))).ids).to.deep.equal(cold);
      backend.kv.release(held);
    });

    it('restore: bytes, and held blocks with bytes after them, go on alike, and come back held', async () => {
      const held = await holdPrompt();
      const bytes = await backend.kv.read(held);
      const { blockBytes, stateBytes = 0 } = backend.kv;
      for (const [index, block] of bytes.entries())
        expect(block.byteLength).to.equal(blockBytes + (held[index]!.resumes === false ? 0 : stateBytes));
      const fromBytes = await goOn(bytes);
      expect(fromBytes.ids).to.deep.equal(cold);
      const mixed = await goOn([held[0]!, ...bytes.slice(1)]);
      expect(mixed.ids).to.deep.equal(cold);
      expect(mixed.held[0]).to.equal(held[0]);
      expect(await backend.kv.read(fromBytes.held)).to.deep.equal(bytes);
      backend.kv.release([...held, ...fromBytes.held, ...mixed.held.slice(1)]);
    });

    it('hold: part of a sequence, added to what is held already', async () => {
      const first = await holdPrompt();
      const later = await holdPrompt(1);
      expect((await goOn([first[0]!, ...later])).ids).to.deep.equal(cold);
      backend.kv.release([...first, ...later]);
    });

    it('hold: keeps what was there, though the sequence is truncated and goes on differently', async () => {
      const sequence = backend.openSequence(sequenceOptions());
      await continueSequence(backend, sequence, prompt, 1);
      const holding = backend.kv.hold(sequence, 0, 3);
      backend.truncate(sequence, 40);
      await continueSequence(backend, sequence, [...prompt].reverse().slice(0, 60), 1);
      const held = await holding;
      backend.closeSequence(sequence);
      expect((await goOn(held)).ids).to.deep.equal(cold);
      backend.kv.release(held);
    });

    it('restore: two sequences on the same blocks do not disturb each other', async () => {
      const held = await holdPrompt();
      const other = [...prompt.slice(0, 96), ...prompt.slice(10, 40)];
      const expected = await runTokens(backend, other, count);
      const sequence = backend.openSequence(sequenceOptions());
      await backend.kv.restore(sequence, other.slice(0, 96), held, 96);
      const ids = (await continueSequence(backend, sequence, other.slice(96), 1)).map(({ token }) => token!);
      expect((await goOn(held)).ids).to.deep.equal(cold);
      while (ids.length < count) {
        const { rows } = await backend.step([{ sequence, input: 'previous', sample: true, isPrompt: false }]);
        ids.push(rows[0]!.token!);
      }
      backend.closeSequence(sequence);
      expect(ids).to.deep.equal(expected);
      backend.kv.release(held);
    });

    for (const [kind, sampling] of [
      ['sampled', { temperature: 0.9, topK: 20, seed: 3 }],
      ['penalised', { repetitionPenalty: 1.4, frequencyPenalty: 0.6, presencePenalty: 0.3 }],
    ] as const)
      it(`restore: ${kind} tokens are those of a cold start`, async () => {
        const held = await holdPrompt();
        expect((await goOn(held, sampling)).ids).to.deep.equal(await runTokens(backend, prompt, count, sampling));
        backend.kv.release(held);
      });

    it('restore: tokens beyond the prompt count as output for the penalties', async () => {
      const sampling = { frequencyPenalty: 1.5, presencePenalty: 0.5 };
      const cut = 40;
      const sequence = backend.openSequence(sequenceOptions(sampling));
      const { maxStepTokens } = backend.info.capabilities;
      for (let at = 0; at < 96;) {
        const isPrompt = at < cut;
        const input = prompt.slice(at, Math.min(isPrompt ? cut : 96, at + maxStepTokens));
        await backend.step([{ sequence, input, sample: false, isPrompt }]);
        at += input.length;
      }
      const rows = await continueSequence(backend, sequence, prompt.slice(96), count);
      backend.closeSequence(sequence);
      const held = await holdPrompt();
      expect((await goOn(held, sampling, cut)).ids).to.deep.equal(rows.map(({ token }) => token));
      backend.kv.release(held);
    });

    it('hold and restore: what does not fit together is a RangeError', async () => {
      const held = await holdPrompt();
      const sequence = backend.openSequence(sequenceOptions());
      const failures = [
        () => backend.kv.restore(sequence, prompt.slice(0, 32), held, 32),
        () => backend.kv.restore(sequence, prompt.slice(0, 32), [new Uint8Array(backend.kv.blockBytes - 4)], 32),
        () => backend.kv.hold(sequence, 0, 1),
      ];
      for (const failure of failures) {
        const error: unknown = await failure().catch((caught: unknown) => caught);
        expect(error).to.be.instanceOf(RangeError);
      }
      await continueSequence(backend, sequence, prompt.slice(0, 3), 1);
      const error: unknown = await backend.kv.restore(sequence, prompt.slice(0, 96), held, 96).catch((e: unknown) => e);
      expect(error, 'a sequence that is not empty').to.be.instanceOf(RangeError);
      backend.closeSequence(sequence);
      backend.kv.release(held);
      expect(await runTokens(backend, prompt, count)).to.deep.equal(cold);
    });
  });
}
