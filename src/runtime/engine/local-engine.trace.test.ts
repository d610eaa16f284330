import type { SchedulingPolicy } from '../../shared/info.ts';
import { expect } from 'chai';
import type { GenerateRequest } from '../../shared/generation.ts';
import type { StepTiming } from '../../shared/trace.ts';
import { itl } from '../metrics/itl.ts';
import { prefillRate } from '../metrics/rates.ts';
import { tpot } from '../metrics/tpot.ts';
import { ttft, ttftParts, type TtftParts } from '../metrics/ttft.ts';
import { byteTokenizer, bytesOf, encodeBytePrompt } from './testing/byte-tokenizer.ts';
import { answer, nextEvent, rejection } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import { scriptedTokens } from './testing/next-token.ts';

const REQUEST: GenerateRequest = { prompt: 'x'.repeat(31), maxTokens: 3 }; // 32 tokens with the BOS

/** An engine on a hand-moved clock: tokenizing takes 7 ms, a prefill chunk 100, a decode step 20. */
function timedEngine(
  runAhead = 1,
  policy: SchedulingPolicy = 'balanced',
): ReturnType<typeof createFakeEngine> & { clock: { ms: number } } {
  const clock = { ms: 1000 };
  const made = createFakeEngine(
    {
      nextToken: scriptedTokens(bytesOf('abcdef')),
      capabilities: { runAhead },
      completion: 'task',
      clock: { now: () => clock.ms },
      onStepEnd: ([row]) => (clock.ms += row!.isPrompt ? 100 : 20),
    },
    {
      encodePrompt: (input) => {
        clock.ms += 7;
        return encodeBytePrompt(input);
      },
      scheduling: { policy },
    },
  );
  return { ...made, clock };
}

describe('LocalEngine trace', () => {
  it('trace: the time that ids take to become text is counted, token by token', async () => {
    const clock = { ms: 1000 };
    const { engine } = createFakeEngine(
      { nextToken: scriptedTokens(bytesOf('abcdef')), completion: 'task', clock: { now: () => clock.ms } },
      {
        tokenizer: {
          ...byteTokenizer,
          tokenBytes: (id) => {
            clock.ms += 3;
            return byteTokenizer.tokenBytes(id);
          },
        },
      },
    );
    const { end } = await answer(engine, REQUEST);
    expect(end.trace.detokenizeMs).to.equal(9);
  });

  it('trace: marks, token times and prefill time of a request on a hand-made clock', async () => {
    const { engine } = timedEngine();
    const { end } = await answer(engine, { ...REQUEST, calledAtMs: 990 });
    const { trace } = end;
    expect(trace.marks).to.deep.equal({
      calledMs: 990,
      startedMs: 1000,
      tokenizedMs: 1007,
      prefilledMs: 1207,
      firstTokenMs: 1207,
      firstDeltaMs: 1207,
      firstDeliveredMs: 1207,
      lastTokenMs: 1247,
      lastDeliveredMs: 1247,
      endedMs: 1247,
    });
    expect(trace.tokenTimesMs).to.deep.equal([1207, 1227, 1247]);
    expect(trace.prefillMs).to.equal(200);
    expect(trace.usage).to.deep.equal({ promptTokens: 32, cachedTokens: 0, completionTokens: 3 });
    expect(ttft(trace)).to.equal(217);
    expect(ttftParts(trace)).to.deep.equal({
      queueMs: 10,
      tokenizeMs: 7,
      prefillMs: 200,
      firstSampleMs: 0,
      deliveryMs: 0,
    });
    expect(itl(trace)).to.deep.equal([20, 20]);
    expect(tpot(trace)).to.equal(20);
    expect(prefillRate(trace)).to.equal(160);
  });

  it('trace: prefill chunks that are in flight together are not counted twice', async () => {
    const { engine } = timedEngine(3);
    const { trace } = (await answer(engine, REQUEST)).end;
    expect(trace.prefillMs).to.equal(200);
    expect(trace.tokenTimesMs).to.deep.equal([1207, 1227, 1247]);
  });

  it('trace: waiting behind another request is queue time', async () => {
    const { engine } = timedEngine(1, 'latency');
    const [first, second] = await Promise.all([answer(engine, REQUEST), answer(engine, REQUEST)]);
    const { marks } = second.end.trace;
    expect(marks.calledMs).to.equal(1000);
    expect(ttftParts(second.end.trace)!.queueMs).to.equal(marks.startedMs! - 1000);
    expect(marks.startedMs).to.equal(first.end.trace.marks.lastTokenMs);
    expect(ttftParts(second.end.trace)!.tokenizeMs, 'done while it waited').to.equal(0);
  });

  /** Parts of a TTFT whose prefill chunks, 100 ms each, a backend times like this. */
  async function partsWith(timing: Omit<StepTiming, 'totalMs'>, runAhead = 1): Promise<TtftParts> {
    const { engine, backend } = timedEngine(runAhead);
    const step = backend.step.bind(backend);
    backend.step = async (rows) => {
      const result = await step(rows);
      const { totalMs } = result.trace.timing;
      return { ...result, trace: { ...result.trace, timing: { ...timing, totalMs } } };
    };
    return ttftParts((await answer(engine, REQUEST)).end.trace)!;
  }

  it('trace: sampling and readback that a backend tells are not prefill', async () => {
    const parts = await partsWith({ sampleMs: 6, gpuMs: 90, readbackMs: 4 });
    expect(parts).to.include({ prefillMs: 190, firstSampleMs: 10 });
  });

  it("trace: without the GPU's time the wait for the result is prefill, as computing is within it", async () => {
    expect(await partsWith({ readbackMs: 99 })).to.include({ prefillMs: 200, firstSampleMs: 0 });
    expect(await partsWith({ sampleMs: 6, readbackMs: 90 })).to.include({ prefillMs: 194, firstSampleMs: 6 });
  });

  it('trace: the wait for chunks in flight before the last one is prefill', async () => {
    // Both chunks are given at once: of the 200 ms until the second is there, the first takes 100.
    expect(await partsWith({ gpuMs: 95, readbackMs: 105 }, 3)).to.include({ prefillMs: 195, firstSampleMs: 5 });
  });

  it('trace: a call time in the future counts as now', async () => {
    const { engine } = timedEngine();
    expect((await answer(engine, { ...REQUEST, calledAtMs: 5000 })).end.trace.marks.calledMs).to.equal(1000);
  });

  it('trace: says whether the page was hidden at any time', async () => {
    let looks = 0;
    const { engine } = createFakeEngine({}, { isHidden: () => ++looks === 3 });
    expect((await answer(engine, REQUEST)).end.trace.hidden).to.equal(true);
    expect((await answer(engine, REQUEST)).end.trace.hidden).to.equal(false);
  });

  it('trace: asks whether the page was hidden since the call, not only when it looks', async () => {
    const { engine } = createFakeEngine({ clock: { now: () => 1000 } }, { isHidden: (sinceMs) => sinceMs <= 990 });
    expect((await answer(engine, { ...REQUEST, calledAtMs: 995 })).end.trace.hidden).to.equal(false);
    expect((await answer(engine, { ...REQUEST, calledAtMs: 985 })).end.trace.hidden).to.equal(true);
  });

  it('metrics: requests that are refused or aborted while queued are told of, with the marks they reached', async () => {
    const { engine, backend } = createFakeEngine({ completion: 'manual' }, { scheduling: { policy: 'latency' } });
    const refused = nextEvent(engine, 'request');
    await rejection(answer(engine, { prompt: '' }));
    const { outcome, trace } = await refused;
    expect(outcome).to.equal('failed');
    expect(trace.marks).to.have.all.keys('calledMs', 'endedMs');
    expect(trace.usage).to.deep.equal({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 });
    expect(trace).not.to.have.any.keys('prefillMs', 'seed');

    const first = answer(engine, REQUEST);
    const controller = new AbortController();
    const queued = rejection(answer(engine, REQUEST, controller.signal));
    await backend.whenGiven(1);
    const aborted = nextEvent(engine, 'request');
    controller.abort();
    await queued;
    expect((await aborted).trace.marks).to.have.all.keys('calledMs', 'endedMs');
    backend.release();
    await first;
  });

  it('metrics: the request is told of once its end was read, before the iteration ends', async () => {
    const { engine } = createFakeEngine();
    const told: string[] = [];
    engine.metrics.on('request', () => told.push('request'));
    for await (const event of engine.generate(REQUEST)) if (event.type === 'end') told.push('end');
    expect(told).to.deep.equal(['end', 'request']);
  });
});
