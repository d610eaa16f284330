import { expect } from 'chai';
import type { RopeConfig } from './model-config.ts';
import { ropeFrequencies } from './rope-frequencies.ts';

const plain: RopeConfig = { style: 'halves', dims: 8, base: 10_000, scaling: { type: 'none' }, magnitude: 1, usesFactors: false };

describe('ropeFrequencies', () => {
  it('ropeFrequencies: is base to the power of -2i/dims', () => {
    const { radians, magnitude } = ropeFrequencies(plain);
    expect([...radians].map((value) => Number(value.toPrecision(6)))).to.deep.equal([1, 0.1, 0.01, 0.001]);
    expect(magnitude).to.equal(1);
  });

  it('ropeFrequencies: linear scaling and factors divide', () => {
    const linear = ropeFrequencies({ ...plain, scaling: { type: 'linear', factor: 4 } });
    expect(linear.radians[1]).to.be.closeTo(0.025, 1e-12);
    const factors = ropeFrequencies({ ...plain, usesFactors: true }, [1, 2, 4, 8]);
    expect(factors.radians[3]).to.be.closeTo(0.001 / 8, 1e-12);
    expect(() => ropeFrequencies({ ...plain, usesFactors: true })).to.throw(RangeError);
    expect(() => ropeFrequencies({ ...plain, usesFactors: true }, [1, 2])).to.throw(RangeError);
  });

  it('ropeFrequencies: YaRN keeps fast pairs, interpolates slow ones and adds magnitude', () => {
    const scaling = { type: 'yarn', factor: 4, originalContext: 4096, betaFast: 32, betaSlow: 1 } as const;
    const { radians, magnitude } = ropeFrequencies({ ...plain, dims: 64, scaling });
    const unscaled = ropeFrequencies({ ...plain, dims: 64 }).radians;
    expect(radians[0]).to.equal(unscaled[0]);
    expect(radians[31]).to.be.closeTo(unscaled[31]! / 4, 1e-12);
    // The ramp goes from pair floor(10.46) to ceil(22.51), by the formula of the paper: 32 turns and 1 turn in 4096 tokens.
    expect(radians[10]).to.equal(unscaled[10]);
    expect(radians[11]! / unscaled[11]!).to.be.closeTo(1 - 0.75 / 13, 1e-12);
    expect(radians[23]! / unscaled[23]!).to.be.closeTo(0.25, 1e-12);
    expect(magnitude).to.be.closeTo(1 + 0.1 * Math.log(4), 1e-12);
  });
});
