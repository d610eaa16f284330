import { expect } from 'chai';
import { sequenceOptions } from '../../backends/testing/run-tokens.ts';
import { bytesOf } from '../testing/byte-tokenizer.ts';
import { FakeBackend } from '../testing/fake-backend.ts';
import { DraftModel, type DraftModelRequest } from './draft-model.ts';

const fake = (): FakeBackend => new FakeBackend({ capabilities: { runAhead: 3, maxBatch: 2, maxStepTokens: 8 } });

/** What the model answers to tokens of which so many are the prompt. */
async function answer(tokens: readonly number[], promptTokens: number, count: number): Promise<number[]> {
  const backend = new FakeBackend({ capabilities: { maxStepTokens: 256 } });
  const sequence = backend.openSequence(sequenceOptions());
  const step = async (input: readonly number[] | 'previous', sample: boolean, isPrompt: boolean) =>
    (await backend.step([{ sequence, input, sample, isPrompt }])).rows[0]!.token;
  await step(tokens.slice(0, promptTokens), false, true);
  const made = [await step(tokens.slice(promptTokens), true, false)];
  while (made.length < count) made.push(await step('previous', true, false));
  return made.map((id) => id!);
}

const request = (key: object, tokens: readonly number[], promptTokens: number, count: number): DraftModelRequest => ({
  key,
  options: sequenceOptions(),
  tokens,
  promptTokens,
  count,
});

describe('DraftModel', () => {
  it('draft: gives what its model would answer, of several sequences at once, and goes on from what was accepted', async () => {
    const backend = fake();
    const model = new DraftModel(backend);
    const keys = [{}, {}, {}];
    const prompts = ['What is TTFT?', 'Why is decode bound by memory?', 'KV'].map(bytesOf);
    // A first output token is there.
    const texts = prompts.map((prompt, i) => [...prompt, 0x41 + i]);
    for (let round = 0; round < 4; round++) {
      const requests = texts.map((tokens, i) => request(keys[i]!, [...tokens], prompts[i]!.length, 2 + i));
      const drafted = await model.draft(requests);
      for (const [i, tokens] of texts.entries()) {
        expect(drafted[i]).to.deep.equal(await answer(tokens, prompts[i]!.length, 2 + i));
        // All of it is right, or none, or a part.
        const accepted = drafted[i]!.slice(0, (round + i) % 4);
        tokens.push(...accepted, 0x61 + round);
      }
    }
    expect(backend.openSequences).to.equal(3);
    for (const key of keys) model.close(key);
    model.close({});
    expect(backend.openSequences).to.equal(0);
    await model.dispose();
  });

  it('draft: only what is new is computed, and drafts are sampled ahead of their results', async () => {
    const backend = fake();
    const model = new DraftModel(backend);
    const key = {};
    const prompt = bytesOf('0123456789');
    const tokens = [...prompt, 0x41];
    const [first] = await model.draft([request(key, tokens, prompt.length, 3)]);
    const before = backend.given.length;
    await model.draft([request(key, [...tokens, ...first!.slice(0, 2), 0x42], prompt.length, 3)]);
    const inputs = backend.given.slice(before).flatMap((rows) => rows.map(({ input }) => input));
    expect(inputs).to.deep.equal([[0x42], 'previous', 'previous']);
    await model.dispose();
  });

  it('draft: rejects when its backend fails, with no step left in flight', async () => {
    const backend = new FakeBackend({ failStep: (step) => (step === 1 ? new Error('gone') : undefined) });
    const model = new DraftModel(backend);
    const error: unknown = await model.draft([request({}, [1, 2, 3], 2, 4)]).catch((caught: unknown) => caught);
    expect(error).to.be.instanceOf(Error);
    expect(backend.pendingSteps).to.equal(0);
    await model.dispose();
  });

  it('close: a backend that cannot close a sequence does not fail the request that ends', async () => {
    const backend = fake();
    const model = new DraftModel(backend);
    const key = {};
    await model.draft([request(key, [1, 2, 3], 2, 1)]);
    backend.closeSequence = () => {
      throw new Error('gone');
    };
    expect(() => model.close(key)).not.to.throw();
    await model.dispose();
  });
});
