import { expect } from 'chai';
import { mergeSampling, samplingDefaultsFrom } from './sampling-defaults.ts';

const noSeed = (): number => {
  throw new RangeError('no seed was needed');
};

describe('samplingDefaultsFrom', () => {
  it('samplingDefaultsFrom: reads what the makers recommend for sampling', () => {
    const config = { do_sample: true, temperature: 0.7, top_p: 0.8, top_k: 20, repetition_penalty: 1.1, max_length: 5 };
    expect(samplingDefaultsFrom(config)).to.deep.equal({
      temperature: 0.7,
      topP: 0.8,
      topK: 20,
      repetitionPenalty: 1.1,
    });
  });

  it('samplingDefaultsFrom: without do_sample only the repetition penalty counts', () => {
    expect(samplingDefaultsFrom({ temperature: 0.7, top_p: 0.8, repetition_penalty: 1.1 })).to.deep.equal({
      repetitionPenalty: 1.1,
    });
  });

  it('samplingDefaultsFrom: do_sample alone is temperature 1', () => {
    expect(samplingDefaultsFrom({ do_sample: true })).to.deep.equal({ temperature: 1 });
  });

  it('samplingDefaultsFrom: leaves out what is broken', () => {
    const config = { do_sample: true, temperature: 'hot', top_p: 7, top_k: 2.5, min_p: null, repetition_penalty: -1 };
    expect(samplingDefaultsFrom(config)).to.deep.equal({ temperature: 1 });
    for (const none of [undefined, null, 'x', 3]) expect(samplingDefaultsFrom(none)).to.deep.equal({});
  });
});

describe('mergeSampling', () => {
  it('mergeSampling: the request is over the defaults, and these are over "off"', () => {
    expect(mergeSampling({ topP: 0.5, seed: 9 }, { temperature: 0.7, topP: 0.8 }, noSeed)).to.deep.equal({
      temperature: 0.7,
      topP: 0.5,
      topK: 0,
      minP: 0,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      logitBias: {},
      seed: 9,
    });
  });

  it('mergeSampling: draws a seed only for sampling without one', () => {
    expect(mergeSampling({}, { temperature: 0.7 }, () => 42).seed).to.equal(42);
    expect(mergeSampling({ temperature: 0 }, { temperature: 0.7 }, noSeed).seed).to.equal(0);
    expect(mergeSampling({ temperature: 1, seed: 0 }, {}, noSeed).seed).to.equal(0);
  });
});
