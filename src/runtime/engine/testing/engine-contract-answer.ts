import { expect } from 'chai';
import { answer, nextEvent } from './collect.ts';
import type { Subject } from './engine-contract.ts';

/** Streaming, counting, queueing and tracing. */
export function describeAnswers({ engine, options, requests, solo, expectUsable }: Subject): void {
  it('generate: repeats itself for the same request, greedy and seeded', async () => {
    for (const [index, request] of requests.entries()) {
      const again = await answer(engine(), request);
      expect(again.text).to.equal(solo()[index]!.text);
      expect(again.ids).to.deep.equal(solo()[index]!.ids);
    }
  });

  it('generate: maxTokens ends the answer with "length" and is kept to the token', function () {
    if (!options.ignoresEos) this.skip();
    for (const [index, { ids, end }] of solo().entries()) {
      expect(ids).to.have.length(requests[index]!.maxTokens!);
      expect(end.finishReason).to.equal('length');
      expect(end).not.to.have.property('stopString');
    }
  });

  it('usage: counts the ids that were streamed and those of the prompt', async () => {
    for (const [index, { ids, start, end }] of solo().entries()) {
      expect(end.usage.completionTokens).to.equal(ids.length);
      expect(end.usage.promptTokens).to.equal(start.promptTokens);
      expect(end.usage.cachedTokens).to.equal(start.cachedTokens);
      expect(end.usage.cachedTokens).to.be.within(0, end.usage.promptTokens);
      const { messages, prompt } = requests[index]!;
      const counted = await engine().countTokens(messages ? { messages } : { prompt: prompt! });
      expect(counted).to.equal(end.usage.promptTokens);
    }
  });

  it('generate: streams, so that a delta comes before the last token is made', () => {
    for (const { deltas, tokens } of solo()) {
      expect(deltas.length).to.be.greaterThan(1);
      expect(tokens.length).to.be.greaterThan(1);
    }
  });

  it('trace: its times are in order, one for each token, and its usage is that of the end', () => {
    for (const { tokens, end, start } of solo()) {
      const { marks, tokenTimesMs, usage, requestId } = end.trace;
      expect(requestId).to.equal(start.requestId);
      expect(usage).to.deep.equal(end.usage);
      expect(tokenTimesMs).to.have.length(tokens.length);
      const increasing = [...tokenTimesMs].sort((a, b) => a - b);
      expect(tokenTimesMs).to.deep.equal(increasing);
      const order = [
        marks.calledMs,
        marks.startedMs,
        marks.tokenizedMs,
        marks.cacheReadyMs,
        marks.prefilledMs,
        marks.firstTokenMs,
        marks.firstDeltaMs,
        marks.firstDeliveredMs,
        marks.lastDeliveredMs,
      ].filter((mark) => mark !== undefined);
      expect(order, 'marks in order').to.deep.equal([...order].sort((a, b) => a - b));
      expect(marks.firstTokenMs).to.equal(tokenTimesMs[0]);
      expect(marks.lastTokenMs).to.equal(tokenTimesMs.at(-1));
      expect(marks.firstDeliveredMs, 'something was delivered').to.be.a('number');
      for (const value of Object.values(marks)) expect(value).to.satisfy(Number.isFinite);
    }
  });

  it('trace: tells the seed of a sampled answer, drawn if none was given, and none of a greedy one', async () => {
    expect(solo()[0]!.end.trace).not.to.have.property('seed');
    expect(solo()[1]!.end.trace.seed).to.equal(7);
    const request = { ...requests[1]!, sampling: { temperature: 1.2 } };
    const first = await answer(engine(), request);
    const { seed } = first.end.trace;
    expect(seed).to.satisfy((value: unknown) => Number.isInteger(value) && Number(value) >= 0);
    const again = await answer(engine(), { ...request, sampling: { temperature: 1.2, seed: seed! } });
    expect(again.text).to.equal(first.text);
  });

  it('trace: TTFT counts from the time the caller names', async () => {
    const before = solo()[0]!.end.trace.marks.calledMs - 1000;
    const { end } = await answer(engine(), { ...requests[0]!, calledAtMs: before });
    expect(end.trace.marks.calledMs).to.equal(before);
  });

  it('metrics: tells of a completed request with the trace of its end, and of its steps', async () => {
    const request = nextEvent(engine(), 'request');
    const { end } = await answer(engine(), requests[0]!);
    const { outcome, trace } = await request;
    expect(outcome).to.equal('completed');
    expect(trace).to.deep.equal(end.trace);
  });

  it('metrics: a listener that throws is reported and does not disturb', async () => {
    const reported: unknown[] = [];
    const original = console.error;
    console.error = (...parts: unknown[]) => void reported.push(parts);
    const stop = engine().metrics.on('request', () => {
      throw new RangeError('a listener of this test');
    });
    const request = nextEvent(engine(), 'request');
    try {
      await expectUsable();
      await request;
    } finally {
      stop();
      console.error = original;
    }
    expect(reported).to.have.length(1);
  });

  it('generate: requests made at once each give their solo answer', async () => {
    const answers = await Promise.all(requests.map((request) => answer(engine(), request)));
    expect(answers.map(({ text }) => text)).to.deep.equal(solo().map(({ text }) => text));
    expect(answers.map(({ ids }) => ids)).to.deep.equal(solo().map(({ ids }) => ids));
    expect(new Set(answers.map(({ start }) => start.requestId)).size).to.equal(answers.length);
  });

  it('generate: is queued when called, not when iterated', async () => {
    const ended = nextEvent(engine(), 'request');
    const events = engine().generate(requests[0]!);
    expect((await ended).outcome).to.equal('completed');
    let text = '';
    for await (const event of events) if (event.type === 'delta') text += event.text;
    expect(text).to.equal(solo()[0]!.text);
  });

  it('generate: a stop string ends the answer before it, wherever token borders are', async () => {
    const whole = solo()[0]!.text;
    // Whole characters, so that no surrogate pair is cut.
    const characters = Array.from(whole);
    const from = Math.floor(characters.length / 2);
    const stop = characters.slice(from, from + 3).join('');
    const { text, end } = await answer(engine(), { ...requests[0]!, stop: [stop, 'never to be seen \u2603'] });
    expect(text).to.equal(whole.slice(0, whole.indexOf(stop)));
    expect(end.finishReason).to.equal('stop');
    expect(end.stopString).to.equal(stop);
  });

  it('generate: text held back as a possible stop string is flushed at the end', async () => {
    const whole = solo()[0]!.text;
    const { text } = await answer(engine(), { ...requests[0]!, stop: [`${whole.slice(-2)}\u2603 and more`] });
    expect(text).to.equal(whole);
  });

  it('generate: takes token ids as they are', async function () {
    if (!options.takesTokenIds) this.skip();
    const promptTokens = solo()[0]!.ids;
    const { end } = await answer(engine(), { promptTokens, maxTokens: 4 });
    expect(end.usage.promptTokens).to.equal(promptTokens.length);
  });

  it('generate: a stop token id ends the answer, is counted, and its text is not shown', async function () {
    if (!options.takesTokenIds) this.skip();
    const { ids, text: whole } = solo()[0]!;
    const stopId = ids[3]!;
    const { ids: shorter, text, end } = await answer(engine(), { ...requests[0]!, stopTokenIds: [stopId] });
    expect(shorter).to.deep.equal(ids.slice(0, ids.indexOf(stopId) + 1));
    expect(whole.startsWith(text)).to.equal(true);
    expect(end.finishReason).to.equal('stop');
    expect(end.usage.completionTokens).to.equal(shorter.length);
  });
}
