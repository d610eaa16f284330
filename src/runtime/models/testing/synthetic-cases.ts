import { BLOCK_LAYOUTS, type GgmlType } from '../gguf/tensor-types.ts';
import { SHAPES, type SyntheticModel } from './synthetic-model.ts';

/** Gemma needs a global layer, the sixth: llama.cpp aborts on an empty cache of either kind. */
const ARCHITECTURES = [
  { architecture: 'llama', layers: 2 },
  { architecture: 'qwen2', layers: 2 },
  { architecture: 'qwen3', layers: 2 },
  { architecture: 'gemma3', layers: 7 },
  { architecture: 'phi3', layers: 2 },
  { architecture: 'lfm2', layers: 3 },
  { architecture: 'qwen35', layers: 4 },
] as const;

/** llama.cpp takes a head size of its own for the others only. */
const FULL_WIDTH = { heads: 2, kvHeads: 1, headDim: 86 };

const tiny = { ...SHAPES.tiny, quantization: 'F32' } as const;

/** Every element type, and variants: rotary scaling, tied output, biases, a large vocabulary. */
export const TYPE_AND_VARIANT_CASES: readonly SyntheticModel[] = [
  ...(Object.keys(BLOCK_LAYOUTS) as GgmlType[]).map(
    (quantization): SyntheticModel => ({ ...tiny, architecture: 'llama', quantization }),
  ),
  { ...tiny, architecture: 'qwen2' },
  { ...tiny, architecture: 'qwen3' },
  { ...tiny, architecture: 'gemma3', layers: 7 },
  { ...tiny, architecture: 'phi3' },
  { ...tiny, architecture: 'llama', tied: true, qkvBias: true },
  { ...tiny, architecture: 'qwen2', tied: true, quantization: 'Q8_0' },
  { ...SHAPES.odd, architecture: 'qwen2', tied: true, quantization: 'Q8_0', vocab: 151_936 },
  { ...tiny, architecture: 'llama', ropeScaling: 'linear' },
  { ...tiny, architecture: 'llama', ropeScaling: 'factors' },
  { ...tiny, architecture: 'qwen2', ropeScaling: 'yarn', context: 256 },
  { ...tiny, architecture: 'gemma3', layers: 7, ropeScaling: 'linear' },
  { ...tiny, architecture: 'phi3', ropeShare: 0.75 },
  { ...tiny, architecture: 'phi3', ropeScaling: 'longrope', context: 128 },
  { ...tiny, architecture: 'phi3', ropeScaling: 'longrope', context: 2048 },
];

/** Mixtures of experts, in types that llama.cpp rounds little: where two experts are nearly as good, its 8-bit activations choose another. */
const EXPERT_CASES: readonly SyntheticModel[] = (['qwen3moe', 'lfm2moe'] as const).flatMap((architecture): SyntheticModel[] => [
  { ...tiny, architecture, layers: 3 },
  { ...SHAPES.nine, architecture, layers: 3, quantization: 'F16' },
]);

/** Every architecture in INT4 and mixed types, and in odd sizes. */
export const ARCHITECTURE_CASES: readonly SyntheticModel[] = [
  ...ARCHITECTURES.flatMap(({ architecture, layers }): SyntheticModel[] => {
    const deep = Math.max(5, layers);
    const width = architecture === 'qwen2' || architecture === 'phi3' || architecture === 'lfm2' ? FULL_WIDTH : {};
    return [
      { ...tiny, architecture, layers, quantization: 'Q4_0' },
      { ...tiny, architecture, layers, quantization: 'Q4_K_M' },
      { ...SHAPES.odd, architecture, layers: deep, quantization: 'Q4_0' },
      { ...SHAPES.odd172, ...width, architecture, layers: deep, quantization: 'Q8_0' },
      { ...SHAPES.nine, architecture, layers, quantization: 'Q5_0' },
    ];
  }),
  ...EXPERT_CASES,
];

/** What makes the model, in a few words: for the names of tests. */
export function syntheticName(model: SyntheticModel): string {
  const { architecture, quantization, layers, hidden, heads, kvHeads, ffn, vocab, headDim, ...rest } = model;
  const sizes = `${layers} layers of ${hidden}/${ffn}, heads ${heads}/${kvHeads}${headDim === undefined ? '' : ` of ${headDim}`}`;
  const options = Object.entries(rest).map(([name, value]) => `${name} ${value}`);
  return [`${architecture} ${quantization}`, sizes, `vocab ${vocab}`, ...options].join(', ');
}
