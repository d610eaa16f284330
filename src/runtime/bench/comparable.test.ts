import { expect } from 'chai';
import { comparability, comparabilityLines, comparabilityOfRuns, COMPARED_FIGURES } from './comparable.ts';
import type { Note, Run } from './report.ts';
import type { Sample } from './sample.ts';
import { simulateRun } from './testing/simulated-run.ts';

type Model = Partial<Run['conditions']['model']>;
interface Changes {
  name?: string;
  model?: Model;
  sample?: Partial<Sample>;
  adapter?: Partial<NonNullable<Run['conditions']['adapter']>>;
  note?: Note['code'];
  version?: string;
}

const ADAPTER = { vendor: 'acme', architecture: 'one', description: 'one', isFallback: false, features: [] };

describe('comparability', () => {
  let base: Run;
  before(async () => (base = (await simulateRun({ stop: { requests: 5 } })).run));

  /** The simulated run with something else about it, in every sample. */
  function other({ name = 'B', model, sample, adapter, note, version }: Changes = {}): Run {
    const run = structuredClone(base);
    run.conditions.engine = { ...run.conditions.engine, name, ...(version !== undefined && { version }) };
    Object.assign(run.conditions.model, model);
    if (adapter) run.conditions.adapter = { ...ADAPTER, ...adapter };
    run.samples = run.samples.map((one) => ({ ...one, ...sample }));
    if (note) run.notes = [...run.notes, { code: note, message: note }];
    return run;
  }

  const judge = (a: Changes, b: Changes) => comparability(other({ name: 'A', ...a }), other(b))!;
  const verdicts = (a: Changes, b: Changes): string => Object.values(judge(a, b).verdicts).join(' ');

  it('comparability: the same model with the same tokens can be compared in everything', () => {
    const found = judge({}, {});
    expect(verdicts({}, {})).to.equal('yes yes yes yes yes');
    expect(found.caveats).to.be.empty;
    expect(found.remarks).to.deep.equal(['Both gave the very same tokens.']);
    expect(comparabilityLines(found)[0]).to.equal('B against A, comparable: everything.');
  });

  it('comparability: other bits forbid everything; other formats of the same bits are told', () => {
    const eight = judge({}, { model: { quantization: 'Q8_0' } });
    expect(Object.values(eight.verdicts).join()).to.equal('no,no,no,no,no');
    expect(eight.caveats[0]!.reason).to.match(/A has 4-bit weights \(Q4_0\), B 8-bit ones \(Q8_0\)/);
    const formats = judge({}, { model: { quantization: 'q4', weightBytes: 3_400_000 } });
    expect(formats.caveats).to.be.empty;
    expect(formats.remarks.join()).to.include('4-bit weights, in two formats: Q4_0 (0.0 MB) and q4 (3.4 MB)');
  });

  it('comparability: names of precisions are read as people write them', () => {
    for (const [quantization, bits] of [
      ['q4f16', 4],
      ['Q4_K_M', 4],
      ['q4f16_1', 4],
      ['q0f16', 16],
      ['BF16', 16],
      ['fp32', 32],
      ['int8', 8],
      ['IQ3_XS', 3],
    ] as const) {
      const reason = judge({}, { model: { quantization } }).caveats[0]?.reason;
      if (bits === 4) expect(reason, quantization).to.equal(undefined);
      else expect(reason, quantization).to.include(`B ${bits}-bit`);
    }
    expect(judge({}, { model: { quantization: 'unknown' } }).caveats[0]).to.deep.include({ verdict: 'with-care' });
  });

  it('comparability: another tokenizer forbids what is per token, and leaves TTFT', () => {
    expect(verdicts({}, { sample: { promptTokens: 25 } })).to.equal('yes no no no yes');
    const counted = judge({}, { sample: { outputTokens: 20, ids: [1, 2] } });
    expect(counted.verdicts['ms/token']).to.equal('no');
    expect(counted.caveats[0]!.reason).to.include('the same answer has 7 tokens for A and 20 for B');
    // An end token that one counts and the other does not.
    expect(verdicts({}, { sample: { outputTokens: 8 } })).to.equal('yes yes yes yes yes');
  });

  it('comparability: another cache state forbids what the cache saves, unless the cache is the point', () => {
    const cached = { cachedTokens: 18 };
    expect(verdicts({}, { sample: cached })).to.equal('no yes yes no no');
    const point = judge({ name: 'webgpu' }, { name: 'webgpu (cache on)', sample: cached });
    expect(Object.values(point.verdicts).join()).to.equal('yes,yes,yes,yes,yes');
    expect(point.remarks.join()).to.include('webgpu found 0 % of its prompt there, webgpu (cache on) 90 %');
  });

  it('comparability: times of a software adapter are of no GPU', () => {
    const soft = { adapter: { description: 'swiftshader', isFallback: true } };
    expect(verdicts({}, soft)).to.equal('no no no no no');
    expect(verdicts(soft, soft)).to.equal('with-care with-care with-care with-care with-care');
    expect(verdicts({ adapter: {} }, { adapter: {} })).to.equal('yes yes yes yes yes');
  });

  it('comparability: tokens without ids are compared with care, uncounted ones not at all', () => {
    expect(verdicts({}, { sample: { ids: [] } })).to.equal('yes with-care with-care yes yes');
    expect(verdicts({}, { sample: { ids: [], outputTokens: 0 } })).to.equal('yes no no yes yes');
  });

  it('comparability: what one of them does not measure is not compared', () => {
    const run = other();
    run.samples = run.samples.map(({ prefillTokensPerSecond: _, ...sample }) => sample);
    const found = comparability(base, run)!;
    expect(found.verdicts.prefill).to.equal('no');
    expect(found.caveats[0]!.reason).to.equal('Not measured by B.');
  });

  it('comparability: other answers, servers, order and few rounds are told', () => {
    expect(verdicts({}, { sample: { text: 'else', outputTokens: 3 } })).to.equal('yes yes yes yes no');
    for (const [changes, words] of [
      [{ name: 'endpoint (example.org)' }, 'network'],
      [{ note: 'at-once' }, 'shared the device'],
      [{ note: 'one-after-another' }, 'one after another'],
    ] as const) {
      const found = judge({}, changes);
      expect(Object.values(found.verdicts).join(), words).to.equal(Array(5).fill('with-care').join());
      expect(found.caveats[0]!.reason).to.include(words);
    }
    const few = other();
    few.samples = few.samples.slice(0, 3);
    expect(comparability(base, few)!.caveats[0]!.reason).to.include('3 requests of each');
  });

  it('comparability: what was asked otherwise is not compared', () => {
    const run = other();
    run.conditions.promptLength = { kind: 'fixed', tokens: 99 };
    expect(comparability(base, run)!.caveats[0]!.reason).to.include('prompt length: 20 and 99');
  });

  it('comparabilityLines: one line for what stands, one for each caveat, prohibitions first', () => {
    const lines = comparabilityOfRuns([
      other({ name: 'A' }),
      other({ sample: { ids: [], promptTokens: 25 } }),
      other({ name: 'C' }),
    ]);
    expect(lines.map((line) => line.split(/[.:]/)[0])).to.deep.equal([
      'B against A, comparable',
      'Not comparable',
      'With care',
      'Both gave the very same text',
      'C against A, comparable',
      'Both gave the very same tokens',
    ]);
    expect(lines[0]).to.equal('B against A, comparable: TTFT, E2E.');
  });

  it('comparability: of a run without measured requests nothing is said', () => {
    const run = other();
    run.samples = [];
    expect(comparability(base, run)).to.equal(undefined);
    expect(COMPARED_FIGURES).to.have.lengthOf(5);
  });
});
