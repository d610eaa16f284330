import { expect } from 'chai';
import { ttft } from '../metrics/ttft.ts';
import { BOS_ID, bytesOf, byteTokenizer, END_ID } from './testing/byte-tokenizer.ts';
import { answer, type Answer } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import { scriptedTokens } from './testing/next-token.ts';
import type { GenerateRequest } from '../../shared/generation.ts';

/** What an engine answers whose backend samples exactly `ids`. */
function answerOf(ids: readonly number[], request: Partial<GenerateRequest> = {}): Promise<Answer> {
  const { engine } = createFakeEngine({ nextToken: scriptedTokens(ids), capabilities: { runAhead: 3 } });
  return answer(engine, { prompt: 'x', ...request });
}

const MIXED = 'naïve café, 안녕하세요 👩‍👩‍👧 🇰🇷 a\u0301 \ufeffend';

describe('LocalEngine text', () => {
  it('generate: characters that are spread over tokens come out whole, and deltas joined are the whole text', async () => {
    const { deltas, text, end } = await answerOf(bytesOf(MIXED));
    for (const delta of deltas) {
      expect(delta).not.to.include('\ufffd');
      expect(delta).not.to.match(/\p{Surrogate}/u);
    }
    expect(text).to.equal(MIXED);
    expect(end.finishReason).to.equal('stop');
  });

  it('generate: a broken tail is flushed, in a delta without tokens', async () => {
    const ids = [...bytesOf('ok '), ...bytesOf('😀').slice(0, 2)];
    for (const request of [{}, { maxTokens: ids.length }]) {
      const { deltas, text } = await answerOf(ids, request);
      expect(text).to.equal('ok \ufffd');
      expect(deltas.at(-1)).to.equal('\ufffd');
    }
  });

  it('generate: no control token is shown, also past the end token', async () => {
    const ids = [...bytesOf('a'), BOS_ID, END_ID, ...bytesOf('b'), 260, ...bytesOf('c')];
    const { text, ids: made, end } = await answerOf(ids, { ignoreEos: true, maxTokens: ids.length });
    expect(text).to.equal('abc');
    expect(made).to.deep.equal(ids);
    expect(end.usage.completionTokens).to.equal(ids.length);
  });

  it('generate: a control token between the bytes of a character does not tear it', async () => {
    const [first, ...rest] = bytesOf('é');
    const { text } = await answerOf([first!, BOS_ID, ...rest]);
    expect(text).to.equal('é');
  });

  it('generate: the end token is counted and not shown', async () => {
    const { text, ids, end } = await answerOf(bytesOf('ab'));
    expect(text).to.equal('ab');
    expect(ids).to.deep.equal([...bytesOf('ab'), END_ID]);
    expect(end.usage.completionTokens).to.equal(3);
    expect(end.finishReason).to.equal('stop');
    expect(end).not.to.have.property('stopString');
  });

  it('generate: stop string "own fox" on "The quick brown fox" gives "The quick br"', async () => {
    const ids = bytesOf('The quick brown fox jumps');
    const { text, end, ids: made } = await answerOf(ids, { stop: ['own fox'] });
    expect(text).to.equal('The quick br');
    expect(end).to.include({ finishReason: 'stop', stopString: 'own fox' });
    expect(end.usage.completionTokens).to.equal('The quick brown fox'.length);
    expect(made).to.have.length(end.usage.completionTokens);
  });

  it('generate: a stop string ends past end tokens too', async () => {
    const ids = [...bytesOf('a'), END_ID, ...bytesOf('bSTOPc')];
    const { text, end } = await answerOf(ids, { ignoreEos: true, stop: ['STOP'] });
    expect(text).to.equal('ab');
    expect(end.stopString).to.equal('STOP');
  });

  it('generate: text held back as a possible stop string is flushed by an end token and by maxTokens', async () => {
    for (const request of [{}, { maxTokens: 6 }]) {
      const { text, deltas, end } = await answerOf(bytesOf('brown '), { ...request, stop: ['own fox'] });
      expect(text).to.equal('brown ');
      expect(deltas.at(-1)).to.equal('own ');
      expect(end).not.to.have.property('stopString');
    }
  });

  it('generate: a stop id ends the answer before its text, also with ignoreEos', async () => {
    const { text, ids } = await answerOf(bytesOf('one.two'), { stopTokenIds: bytesOf('.'), ignoreEos: true });
    expect(text).to.equal('one');
    expect(ids).to.deep.equal(bytesOf('one.'));
  });

  it('generate: first tokens without text do not end TTFT', async () => {
    let nowMs = 0;
    const clock = { now: () => nowMs };
    const { engine } = createFakeEngine({
      nextToken: scriptedTokens(bytesOf('😀!')),
      clock,
      onStepEnd: () => (nowMs += 100),
    });
    const { end } = await answer(engine, { prompt: 'x' });
    // A byte each 100 ms: the character is complete at the fourth.
    expect(end.trace.tokenTimesMs).to.deep.equal([100, 200, 300, 400, 500, 600]);
    expect(ttft(end.trace)).to.equal(400);
    expect(end.trace.marks).to.include({ firstTokenMs: 100, firstDeltaMs: 400, lastDeliveredMs: 600 });
  });

  it('generate: an answer to raw text goes on in it: a leading space is kept; one to a chat drops it where the tokenizer says so', async () => {
    const tokenizer = { ...byteTokenizer, stripsLeadingSpace: true };
    const { engine } = createFakeEngine({ nextToken: scriptedTokens(bytesOf(' hi')) }, { tokenizer });
    expect((await answer(engine, { prompt: 'x' })).text).to.equal(' hi');
    expect((await answer(engine, { messages: [{ role: 'user', content: 'x' }] })).text).to.equal('hi');
  });

  it('logprobs: come with each token when asked for', async () => {
    const { tokens } = await answerOf(bytesOf('ab'), { logprobs: 2 });
    expect(tokens[0]).to.deep.include({ id: 97, logprob: -Math.LN2 });
    expect(tokens[0]!.topLogprobs!.map(({ id }) => id)).to.deep.equal([97, 98]);
    const { tokens: plain } = await answerOf(bytesOf('ab'));
    expect(plain[0]).to.have.all.keys('id', 'atMs');
  });
});
