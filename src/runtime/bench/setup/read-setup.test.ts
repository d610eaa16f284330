import { expect } from 'chai';
import { parseLengths, parseTrace } from '../load/trace-file.ts';
import { parseSlo } from '../slo.ts';
import { WORKLOADS } from './presets.ts';
import { readSetup } from './read-setup.ts';
import { toSetup, type Setup } from './setup.ts';

describe('readSetup', () => {
  it('readSetup: says nothing, means five requests of one user, 128 tokens in and 64 out', () => {
    const { workload, engines, model } = readSetup({});
    expect(workload).to.deep.include({
      promptLength: { kind: 'fixed', tokens: 128 },
      outputLength: { kind: 'fixed', tokens: 64 },
      arrivals: { process: 'closed-loop', users: 1, thinkTimeMs: 0 },
      stop: { requests: 5 },
      warmUpRequests: 1,
      slo: { name: 'chat', ttftMs: 300, tpotMs: 40 },
    });
    expect([engines, model]).to.deep.equal([['auto'], 'tutor']);
  });

  it('readSetup: the command of the documentation', () => {
    const { workload } = readSetup({
      workload: 'chat',
      arrivals: 'poisson',
      rate: '0.5',
      duration: '60',
      engine: 'webgpu',
      slo: 'reading',
    });
    expect(workload).to.deep.include({
      name: 'chat',
      promptLength: { kind: 'lognormal', mean: 128, p99: 512 },
      arrivals: { process: 'poisson', ratePerSecond: 0.5 },
      stop: { durationMs: 60_000 },
      slo: { name: 'reading', ttftMs: 1000, tpotMs: 100 },
    });
  });

  it('readSetup: a server and a model of web-llm are named by themselves, and missed where they are needed', () => {
    const asked = readSetup({ engine: 'endpoint', endpoint: 'http://h/v1', 'endpoint-model': 'm' });
    expect(asked.endpoint).to.deep.equal({ baseURL: 'http://h/v1', model: 'm' });
    expect(readSetup({ engine: 'web-llm', 'web-llm-model': 'L' }).webLlmModel).to.equal('L');
    for (const [setup, name] of [
      [{ engine: 'endpoint', 'endpoint-model': 'm' }, '--endpoint '],
      [{ engine: 'webgpu,endpoint', endpoint: 'http://h/v1' }, '--endpoint-model '],
      [{ engine: 'web-llm' }, '--web-llm-model '],
    ] as const)
      expect(() => readSetup(setup)).to.throw(RangeError, name);
  });

  it('readSetup: every preset can be run, closed and open, and a flag changes a part of it', () => {
    for (const workload of Object.keys(WORKLOADS)) {
      readSetup({ workload });
      expect(readSetup({ workload, arrivals: 'gamma', rate: '2' }).workload.arrivals).to.deep.equal({
        process: 'gamma',
        ratePerSecond: 2,
        burstiness: 0.5,
      });
      expect(readSetup({ workload }).workload.name).to.equal(workload);
      expect(readSetup({ workload, 'output-tokens': '9' }).workload.name).to.equal('custom');
      expect(readSetup({ workload, 'output-tokens': 'uniform:2-9' }).workload.outputLength).to.deep.equal({
        kind: 'uniform',
        min: 2,
        max: 9,
      });
    }
  });

  it('readSetup: a search or a sweep over rates is of Poisson arrivals unless others are asked for', () => {
    expect(readSetup({ search: '' })).to.deep.include({ search: { neededShare: 0.95, tolerance: 0.03 } });
    expect(readSetup({ search: '' }).workload.arrivals).to.deep.include({ process: 'poisson' });
    expect(readSetup({ sweep: 'rate:1,2' }).sweep).to.deep.equal({ over: 'rate', values: [1, 2] });
  });

  it('readSetup: reads a trace and lengths from files', () => {
    const files = { 'a.jsonl': '{"timestamp": 10, "input_length": 5, "output_length": 2}', 'b.txt': '3\n4' };
    const { workload } = readSetup({ trace: 'a.jsonl', 'output-tokens': 'file:b.txt' }, files);
    expect(workload.trace).to.deep.equal([{ arrivalMs: 0, promptTokens: 5, outputTokens: 2 }]);
    expect(workload.outputLength).to.deep.equal({ kind: 'empirical', name: 'b.txt', lengths: [3, 4] });
  });

  it('readSetup: what cannot be is refused by name', () => {
    const wrong: [Setup, RegExp][] = [
      [{ 'output-tokens': '0' }, /--output-tokens is 0/],
      [{ 'prompt-tokens': 'lognormal:5' }, /--prompt-tokens is lognormal:5/],
      [{ 'prompt-tokens': 'lognormal:100,50' }, /no lognormal/],
      [{ temperature: 'hot' }, /--temperature is hot/],
      [{ workload: 'toString' }, /--workload is toString/],
      [{ arrivals: 'poisson' }, /need a rate/],
      [{ arrivals: 'often' }, /--arrivals is often/],
      [{ slo: 'fast' }, /SLO "fast"/],
      [{ sweep: 'users' }, /--sweep is users/],
      [{ turns: '2.5' }, /2.5 turns/],
      [{ trace: 'missing' }, /missing was not read/],
      [{ prompt: 'x', turns: '2' }, /one turn/],
    ];
    for (const [setup, said] of wrong) expect(() => readSetup(setup), JSON.stringify(setup)).to.throw(RangeError, said);
    expect(() => toSetup(new URLSearchParams('?speed=9'))).to.throw(RangeError, /no setting "speed"/);
  });
});

describe('parseSlo', () => {
  it('parseSlo: names, or limits in ms', () => {
    expect(parseSlo('ttft=300, itl-p95=60,e2e=5000')).to.deep.equal({
      name: 'own',
      ttftMs: 300,
      itlP95Ms: 60,
      e2eMs: 5000,
    });
    for (const text of ['', 'ttft', 'ttft=0', 'mean=3', 'constructor'])
      expect(() => parseSlo(text), text).to.throw(RangeError);
  });
});

describe('parseTrace', () => {
  it('parseTrace: sorts, starts at 0, and names the line that is wrong', () => {
    const text =
      '{"arrivalMs": 500, "promptTokens": 3, "outputTokens": 4}\n\n{"arrival_ms": 100, "prompt_tokens": 1, "output_tokens": 2}\n';
    expect(parseTrace(text)).to.deep.equal([
      { arrivalMs: 0, promptTokens: 1, outputTokens: 2 },
      { arrivalMs: 400, promptTokens: 3, outputTokens: 4 },
    ]);
    expect(() => parseTrace('{"arrivalMs": 1, "promptTokens": 3, "outputTokens": 4}\nx')).to.throw(
      RangeError,
      /line 2 is no JSON/,
    );
    expect(() => parseTrace('{"arrivalMs": 1, "promptTokens": 0, "outputTokens": 4}')).to.throw(
      RangeError,
      /line 1 has no promptTokens/,
    );
    expect(() => parseTrace('')).to.throw(RangeError, /no requests/);
  });

  it('parseLengths: lines or a JSON array of numbers', () => {
    expect(parseLengths('1\n2, 3')).to.deep.equal([1, 2, 3]);
    expect(parseLengths('[4, 5]')).to.deep.equal([4, 5]);
    expect(() => parseLengths('4\nx')).to.throw(RangeError, /number 2/);
  });
});
