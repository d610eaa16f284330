import { expect } from 'chai';
import { NEUTRAL_SAMPLING } from '../../shared/generation.ts';
import { samplingParameters } from './sampling-parameters.ts';
import { samplingDefaultsFrom } from './sampling-defaults.ts';
import { validateSampling } from './validate-sampling.ts';

describe('sampling parameters', () => {
  it('samplingParameters: every row has a neutral value that the engine takes, and a range that is one', () => {
    const names = samplingParameters().map(([name]) => name);
    expect([...names, 'logitBias'].sort()).to.deep.equal(Object.keys(NEUTRAL_SAMPLING).sort());
    for (const [name, { kind, min, max }] of samplingParameters()) {
      expect(min, name).to.be.below(max);
      expect(NEUTRAL_SAMPLING[name], name).to.be.within(min, max);
      if (kind === 'integer') expect(Number.isInteger(NEUTRAL_SAMPLING[name]), name).to.equal(true);
    }
  });

  it('samplingParameters: no two rows have one name in an API, a config or a server', () => {
    const rows = samplingParameters().map(([, row]) => row);
    const once = (names: readonly (string | undefined)[]): void => {
      const named = names.filter((name) => name !== undefined);
      expect(new Set(named).size).to.equal(named.length);
    };
    once(rows.map(({ api }) => api.name));
    once(rows.map(({ config }) => config?.key));
    for (const kind of ['vllm', 'llama.cpp'])
      once(rows.map(({ api, servers }) => (servers === 'all' ? api.name : servers[kind])));
  });

  it('validateSampling: takes both ends of every range, and nothing beyond them', () => {
    for (const [name, { min, max }] of samplingParameters()) {
      for (const value of [min, max]) expect(validateSampling({ [name]: value }, 8)).to.deep.equal({ [name]: value });
      for (const value of [min - 1, max + 1])
        expect(() => validateSampling({ [name]: value }, 8), name)
          .to.throw()
          .with.property('code', 'invalid-request');
    }
  });

  it('samplingDefaultsFrom: every key of a config counts, unless it asks for no sampling or its value is out of range', () => {
    for (const [name, { config, max }] of samplingParameters()) {
      if (!config) continue;
      expect(samplingDefaultsFrom({ do_sample: true, [config.key]: 1 })[name], name).to.equal(max < 1 ? undefined : 1);
      expect(samplingDefaultsFrom({ do_sample: false, [config.key]: 1 })[name]).to.equal(
        config.sampled ? undefined : 1,
      );
      const beyond = samplingDefaultsFrom({ do_sample: true, [config.key]: max + 1 })[name];
      expect(beyond, name).to.equal(name === 'temperature' ? 1 : undefined);
    }
  });
});
