import { expect } from 'chai';
import { describeModel } from '../models/architectures/describe-model.ts';
import { ARCHITECTURES } from '../models/architectures/index.ts';
import type { ModelConfig } from '../models/architectures/model-config.ts';
import { readGgufHeader } from '../models/gguf/read-header.ts';
import { TYPE_AND_VARIANT_CASES } from '../models/testing/synthetic-cases.ts';
import { makeSyntheticGguf } from '../models/testing/synthetic-model.ts';
import { kvFormat } from './kv-format.ts';

type Path = readonly string[];

/** Paths of all values that are no objects. */
const leaves = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]))
    : [path];

const other = (value: unknown): unknown =>
  typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : `${String(value)} or another`;

/** A copy in which one value is another. */
function changed(config: ModelConfig, path: Path): ModelConfig {
  const copy = structuredClone(config);
  let at = copy as unknown as Record<string, unknown>;
  for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
  const last = path.at(-1)!;
  at[last] = other(at[last]);
  return copy;
}

describe('kvFormat', () => {
  it('kvFormat: any one value of a config that changes gives another format, for every architecture and variant', async () => {
    const seen = new Set<string>();
    for (const model of TYPE_AND_VARIANT_CASES) {
      const { config } = describeModel(await readGgufHeader(makeSyntheticGguf(model)));
      seen.add(config.architecture);
      const format = kvFormat('layout', config, {});
      expect(kvFormat('layout', structuredClone(config), {})).to.equal(format);
      const paths = leaves(config);
      expect(paths.length).to.be.above(20);
      for (const path of paths)
        expect(kvFormat('layout', changed(config, path), {}), path.join('.')).not.to.equal(format);
    }
    for (const architecture of ['llama', 'qwen2', 'qwen3', 'gemma3', 'phi3']) {
      expect(seen.has(architecture), architecture).to.equal(true);
      expect(ARCHITECTURES.has(architecture)).to.equal(true);
    }
  });

  it('kvFormat: layout and what a load chose count', async () => {
    const { config } = describeModel(await readGgufHeader(makeSyntheticGguf(TYPE_AND_VARIANT_CASES[0]!)));
    const formats = [
      kvFormat('layout', config, { prefillPrecision: 'exact' }),
      kvFormat('layout', config, { prefillPrecision: 'fast' }),
      kvFormat('other', config, { prefillPrecision: 'exact' }),
    ];
    expect(new Set(formats).size).to.equal(3);
  });
});
