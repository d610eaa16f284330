import { expect } from 'chai';
import type { LoadProgress } from '../../../shared/info.ts';
import { answer, rejection } from '../../engine/testing/collect.ts';
import { loadWebLlm } from './load-web-llm.ts';
import type { WebLlmEngine } from './web-llm-engine.ts';
import { realMlc, SKIPPED } from './testing/real-mlc.ts';

const options = await realMlc();
const request = {
  messages: [{ role: 'user' as const, content: 'stone $$letter$$' }],
  sampling: { temperature: 0 },
  maxTokens: 2,
  ignoreEos: true,
};

// What the stand-in is taken at its word for, in few tokens: a software adapter needs seconds for each.
(options ? describe : describe.skip)('WebLlmEngine over the real library', function () {
  this.timeout(1_800_000);
  let engine: WebLlmEngine;
  const progress: LoadProgress[] = [];
  before(async () => {
    engine = await loadWebLlm({ ...options!, onProgress: (event) => void progress.push(event) });
  });
  after(() => engine[Symbol.asyncDispose]());

  it('load: tells bytes that grow to the total, and what is known of the model', () => {
    const last = progress.at(-1)!;
    expect([last.phase, last.loadedBytes]).to.deep.equal(['ready', last.totalBytes]);
    expect(last.totalBytes).to.be.greaterThan(1e6);
    expect(last.warning?.code).to.equal(location.hostname === 'localhost' ? 'not-saved' : undefined);
    const { model } = engine.info;
    expect(model.contextTokens).to.be.greaterThan(0);
    expect(model.weightBytes / last.totalBytes!).to.be.within(0.98, 1.02);
    expect(model.unknown ?? []).not.to.include('vocabSize');
  });

  it('generate: counts the ids it streams and the tokens of the prompt, twice the same', async () => {
    const first = await answer(engine, request);
    expect(first.ids).to.have.length(2);
    expect(first.end.finishReason).to.equal('length');
    expect(first.end.usage.promptTokens).to.equal(await engine.countTokens(request));
    expect(first.end.trace.tokenTimesMs).to.have.length(2);
    const again = await answer(engine, { ...request, logprobs: 2 });
    expect(again.ids).to.deep.equal(first.ids);
    for (const { id, logprob, topLogprobs } of again.tokens) {
      expect(topLogprobs![0]).to.include({ id, logprob });
      expect(logprob).to.be.within(-20, 0);
    }
  });

  it('abort: after the first token; the next answer is right', async () => {
    const whole = await answer(engine, request);
    const controller = new AbortController();
    const run = async (): Promise<void> => {
      for await (const event of engine.generate({ ...request, maxTokens: 32 }, controller.signal))
        if (event.type === 'delta') controller.abort();
    };
    expect((await rejection(run())).name).to.equal('AbortError');
    expect((await answer(engine, request)).text).to.equal(whole.text);
  });
});

if (!options) console.info(`WebLlmEngine over the real library ${SKIPPED}`);
