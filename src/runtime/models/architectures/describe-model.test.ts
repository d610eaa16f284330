import { expect } from 'chai';
import { isTokenglassError, type TokenglassError } from '../../../shared/errors.ts';
import type { GgufHeader, GgufTensorInfo, GgufValue } from '../gguf/header.ts';
import { readGgufHeader } from '../gguf/read-header.ts';
import { makeSyntheticGguf, SHAPES, type SyntheticModel } from '../testing/synthetic-model.ts';
import { describeModel } from './describe-model.ts';
import type { ModelDescription } from './model-config.ts';

const headerOf = (model: Partial<SyntheticModel>) =>
  readGgufHeader(makeSyntheticGguf({ ...SHAPES.odd, architecture: 'llama', quantization: 'Q8_0', ...model }));

const withMetadata = (header: GgufHeader, changes: Record<string, GgufValue | undefined>): GgufHeader => {
  const metadata = new Map(header.metadata);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) metadata.delete(key);
    else metadata.set(key, value);
  }
  return { ...header, metadata };
};

const withTensors = (header: GgufHeader, change: (tensor: GgufTensorInfo) => GgufTensorInfo | undefined): GgufHeader => ({
  ...header,
  tensors: header.tensors.map(change).filter((tensor) => tensor !== undefined),
});

/** The attention of a layer. */
function attentionOf({ layers }: ModelDescription, layer: number) {
  const block = layers[layer]!.blocks.find(({ kind }) => kind === 'attention');
  if (block?.kind !== 'attention') throw new Error('It has none');
  return block;
}

/** The feed-forward of a layer. */
function denseOf({ layers }: ModelDescription, layer: number) {
  const block = layers[layer]!.blocks.find(({ kind }) => kind === 'dense');
  if (block?.kind !== 'dense') throw new Error('It has none');
  return block;
}

function refusal(header: GgufHeader): TokenglassError {
  try {
    describeModel(header);
  } catch (error) {
    if (isTokenglassError(error)) return error;
    throw error;
  }
  throw new Error('It was taken');
}

describe('describeModel', () => {
  it('describeModel: Llama rotates pairs side by side, Qwen halves', async () => {
    for (const [architecture, style] of [
      ['llama', 'interleaved'],
      ['qwen2', 'halves'],
    ] as const) {
      const { config } = attentionOf(describeModel(await headerOf({ architecture })), 0);
      expect(config.rope?.style, architecture).to.equal(style);
    }
  });

  it('describeModel: LFM2 and Qwen3.5 have other mixers than attention in most layers', async () => {
    const mixersOf = async (architecture: SyntheticModel['architecture']) =>
      describeModel(await headerOf({ architecture, layers: 6 })).layers.map(({ blocks }) => blocks[0]!.kind);
    const [conv, delta] = ['short-conv', 'delta-net'];
    expect(await mixersOf('lfm2')).to.deep.equal([conv, conv, 'attention', conv, conv, 'attention']);
    expect(await mixersOf('qwen35')).to.deep.equal([delta, delta, delta, 'attention', delta, delta]);
  });

  it('describeModel: experts are refused where they are missing, or too few to choose from', async () => {
    const header = await headerOf({ architecture: 'qwen3moe' });
    const missing = refusal(withTensors(header, (tensor) => (tensor.name === 'blk.1.ffn_up_exps.weight' ? undefined : tensor)));
    expect(missing.code).to.equal('model-invalid');
    expect(missing.message).to.include('blk.1.ffn_up_exps.weight');
    const few = refusal(withMetadata(header, { 'qwen3moe.expert_used_count': 9 }));
    expect(few.message).to.match(/9 experts.*from 8/);
    const other = refusal(withMetadata(header, { 'qwen3moe.expert_count': 16 }));
    expect(other.message).to.include('ffn_gate_inp').and.to.include('[64, 16]');
  });

  it('describeModel: reads sizes, and finds each tensor of a block by its role', async () => {
    const model = describeModel(await headerOf({ architecture: 'qwen2' }));
    expect(model.config).to.include({ hiddenSize: 64, vocabSize: 512, contextTokens: 2048, tiedOutput: false });
    expect(model.layers).to.have.length(5);
    const { config, weights } = attentionOf(model, 3);
    expect(config).to.include({ heads: 8, kvHeads: 4, headDim: 8, bias: true, qkNorm: false });
    expect(config.scale).to.be.closeTo(1 / Math.sqrt(8), 1e-12);
    expect(weights.kBias?.name).to.equal('blk.3.attn_k.bias');
    expect(denseOf(model, 4).config.size).to.equal(172);
    expect(denseOf(model, 4).weights.down.shape).to.deep.equal([172, 64]);
    expect(model.weights.output?.name).to.equal('output.weight');
    expect(model.config.layers[3]!.blocks[0]).to.equal(config);
  });

  it('describeModel: Gemma has five local layers to a global one, which alone is scaled', async () => {
    const gguf = await headerOf({ architecture: 'gemma3', layers: 12, window: 32, ropeScaling: 'linear' });
    const model = describeModel(gguf);
    expect(model.layers.map((_, layer) => attentionOf(model, layer).config.window)).to.deep.equal(
      [32, 32, 32, 32, 32, undefined, 32, 32, 32, 32, 32, undefined],
    );
    expect(attentionOf(model, 0).config.rope).to.deep.include({ base: 10_000, scaling: { type: 'none' } });
    expect(attentionOf(model, 5).config.rope).to.deep.include({ base: 1_000_000, scaling: { type: 'linear', factor: 4 } });
    expect(model.config).to.include({ embeddingScale: 8, tiedOutput: true });
    expect(attentionOf(model, 0).config).to.deep.include({ qkNorm: true, branch: { norm: true, postNorm: true, scale: 1 } });
    expect(denseOf(model, 0).config.activation).to.equal('gelu-tanh');
    expect(model.weights.output).to.equal(undefined);
    expect(denseOf(model, 0).weights.postNorm?.name).to.equal('blk.0.post_ffw_norm.weight');
  });

  it('describeModel: Phi-3 has fused projections, a window in every layer and longrope factors', async () => {
    const gguf = await headerOf({ architecture: 'phi3', window: 512, ropeScaling: 'longrope', ropeShare: 0.5 });
    const model = describeModel(gguf);
    expect(model.layers.every((_, layer) => attentionOf(model, layer).config.window === 512)).to.equal(true);
    expect(attentionOf(model, 0).config.rope).to.deep.include({ dims: 4, scaling: { type: 'longrope', originalContext: 512 } });
    expect(attentionOf(model, 0).weights.qkv?.shape).to.deep.equal([64, 128]);
    expect(denseOf(model, 0).weights.gateUp?.shape).to.deep.equal([64, 344]);
    expect(model.weights.ropeFactorsLong?.shape).to.deep.equal([2]);
  });

  it('describeModel: names an unknown architecture and lists the known ones', async () => {
    const error = refusal(withMetadata(await headerOf({}), { 'general.architecture': 'mamba' }));
    expect(error.code).to.equal('model-unsupported');
    expect(error.message).to.include('"mamba"').and.to.include('llama, qwen2, qwen3, gemma3, phi3');
  });

  it('describeModel: names a tensor that is missing, misshapen, of a block type as a vector, or without a role', async () => {
    const header = await headerOf({});
    const missing = refusal(withTensors(header, (tensor) => (tensor.name === 'blk.2.ffn_up.weight' ? undefined : tensor)));
    expect(missing.code).to.equal('model-invalid');
    expect(missing.message).to.include('blk.2.ffn_up.weight');
    const wrong = refusal(
      withTensors(header, (tensor) => (tensor.name === 'blk.1.attn_k.weight' ? { ...tensor, shape: [64, 64] } : tensor)),
    );
    expect(wrong.code).to.equal('model-invalid');
    expect(wrong.message).to.include('blk.1.attn_k.weight').and.to.include('[64, 32]');
    const blocks = refusal(
      withTensors(header, (tensor) => (tensor.name === 'output_norm.weight' ? { ...tensor, type: 'Q8_0' } : tensor)),
    );
    expect(blocks.code).to.equal('model-unsupported');
    const extra = refusal({ ...header, tensors: [...header.tensors, { ...header.tensors[0]!, name: 'blk.0.ffn_gate_inp.weight' }] });
    expect(extra.code).to.equal('model-unsupported');
    expect(extra.message).to.include('blk.0.ffn_gate_inp.weight');
  });

  const changes: [Record<string, GgufValue | undefined>, string, RegExp][] = [
    [{ 'llama.block_count': undefined }, 'model-invalid', /block_count.*missing/],
    [{ 'llama.block_count': 0 }, 'model-invalid', /block_count/],
    [{ 'llama.block_count': 2 ** 31 }, 'model-invalid', /block_count/],
    [{ 'llama.embedding_length': 'big' }, 'model-invalid', /embedding_length.*number/],
    [{ 'llama.embedding_length': 65 }, 'model-invalid', /token_embd/],
    [{ 'llama.attention.head_count_kv': 3 }, 'model-invalid', /share/],
    [{ 'llama.attention.layer_norm_rms_epsilon': NaN }, 'model-invalid', /epsilon/],
    [{ 'llama.attention.value_length': 16 }, 'model-unsupported', /values 16/],
    [{ 'llama.attention.head_count': Int32Array.of(8, 8, 4, 8, 8) }, 'model-invalid', /blk.2.attn_q/],
    [{ 'llama.attention.head_count': Int32Array.of(8, 8, 8) }, 'model-invalid', /head_count.*3 numbers.*5 layers/],
    [{ 'llama.rope.dimension_count': 5 }, 'model-invalid', /odd/],
    [{ 'llama.rope.dimension_count': 16 }, 'model-invalid', /dimension_count/],
    [{ 'llama.rope.freq_base': 0 }, 'model-invalid', /freq_base/],
    [{ 'llama.rope.scaling.type': 'spiral' }, 'model-unsupported', /spiral/],
    [{ 'llama.expert_count': 8 }, 'model-unsupported', /experts/],
    [{ 'tokenizer.ggml.tokens': new Array<string>(513).fill('a') }, 'model-invalid', /513 tokens/],
    [{ 'split.count': 3 }, 'model-unsupported', /3 files/],
  ];
  for (const [change, code, message] of changes) {
    it(`describeModel: refuses ${Object.entries(change).join(' ').replace(',', ' = ').slice(0, 80)}`, async () => {
      const error = refusal(withMetadata(await headerOf({}), change));
      expect(error.code).to.equal(code);
      expect(error.message).to.match(message);
    });
  }

  it('describeModel: takes an array of equal numbers for one, and the oldest form of linear scaling', async () => {
    const header = withMetadata(await headerOf({}), {
      'llama.attention.head_count_kv': Int32Array.of(4, 4, 4, 4, 4),
      'llama.rope.scale_linear': 2,
    });
    const { config } = attentionOf(describeModel(header), 0);
    expect(config.kvHeads).to.equal(4);
    expect(config.rope?.scaling).to.deep.equal({ type: 'linear', factor: 2 });
  });
});
