import { blockNeeds } from '../../blocks/block-needs.ts';
import type { ModelConfig } from '../../models/architectures/model-config.ts';
import { unsupported } from '../../models/gguf/header-cursor.ts';

/** @throws TokenglassError `model-unsupported` for a block or a shape that the kernels do not take */
export function checkShapes({ layers, hiddenSize }: ModelConfig): void {
  if (hiddenSize % 4 !== 0) throw unsupported(`it is ${hiddenSize} wide; the engine wasm runs multiples of 4`);
  for (const block of layers.flatMap(({ blocks }) => blocks)) {
    if (block.kind !== 'attention' && block.kind !== 'dense')
      throw unsupported(
        `it has blocks of the kind "${block.kind}", which the engine wasm does not run; take the engine webgpu`,
      );
    if (block.kind === 'attention' && block.gated)
      throw unsupported('its attention is gated, which the engine wasm does not run; take the engine webgpu');
    const { kv, inner } = blockNeeds(block);
    if (kv && kv.headDim % 8 !== 0)
      throw unsupported(`its heads are ${kv.headDim} wide; the engine wasm runs multiples of 8`);
    if (inner % 4 !== 0) throw unsupported(`its feed-forward is ${inner} wide; the engine wasm runs multiples of 4`);
  }
}
