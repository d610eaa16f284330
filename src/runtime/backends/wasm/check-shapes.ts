import { blockNeeds } from '../../blocks/block-needs.ts';
import type { AttentionConfig } from '../../blocks/attention/attention.ts';
import type { BlockConfig } from '../../blocks/block.ts';
import type { ModelConfig } from '../../models/architectures/model-config.ts';
import { unsupported } from '../../models/gguf/header-cursor.ts';

/** @throws TokenglassError `model-unsupported` for a block, an option of one or a shape that the kernels do not run; names it */
export function checkShapes({ layers, hiddenSize, layerEmbedding, logitCap }: ModelConfig): void {
  if (hiddenSize % 4 !== 0) throw notRun(`it is ${hiddenSize} wide, no multiple of 4`);
  if (layerEmbedding) throw notRun('it has embeddings by layer');
  if (logitCap !== undefined) throw notRun('it caps its logits softly');
  for (const block of layers.flatMap(({ blocks }) => blocks)) checkBlock(block);
}

/** Options of attention that are followed. */
type Run =
  'kind' | 'branch' | 'heads' | 'kvHeads' | 'headDim' | 'scale' | 'rope' | 'window' | 'fusedQkv' | 'bias' | 'qkNorm';

/** All others, which are not: what a model that has one is said to do. An option that is added has to be named on one side. */
const NOT_RUN: Readonly<Record<Exclude<keyof AttentionConfig, Run>, string>> = {
  sharedLayer: 'has layers that share keys and values',
  valueNorm: 'norms its values',
  outputBias: 'has a bias on the output of attention',
  normAfterRotation: 'norms queries and keys after their rotation',
  queryGrowth: 'lets queries grow with their position',
  softcap: 'caps scores of attention softly',
  sinks: 'has attention sinks',
  gated: 'has a gate on attention',
};

function checkBlock(block: BlockConfig): void {
  if (block.kind !== 'attention' && block.kind !== 'dense') throw notRun(`it has blocks of the kind "${block.kind}"`);
  if (block.branch.outputScale) throw notRun('it scales what layers give');
  if (block.kind === 'attention')
    for (const [option, words] of Object.entries(NOT_RUN) as [keyof typeof NOT_RUN, string][])
      if (block[option] !== undefined && block[option] !== false) throw notRun(`it ${words}`);
  const { kv, inner } = blockNeeds(block);
  if (kv && kv.headDim % 8 !== 0) throw notRun(`its heads are ${kv.headDim} wide, no multiple of 8`);
  if (inner % 4 !== 0) throw notRun(`its feed-forward is ${inner} wide, no multiple of 4`);
}

const notRun = (what: string) => unsupported(`${what}, which the engine wasm does not run; take the engine webgpu`);
