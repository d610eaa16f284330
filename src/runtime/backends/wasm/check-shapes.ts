import { TokenglassError } from '../../../shared/errors.ts';
import { blockNeeds } from '../../blocks/block-needs.ts';
import type { ModelConfig } from '../../models/architectures/model-config.ts';

/** @throws TokenglassError `model-unsupported` for a shape that the kernels do not take */
export function checkShapes({ layers, hiddenSize }: ModelConfig): void {
  const refuse = (what: string, details: Record<string, number>): never => {
    throw new TokenglassError('model-unsupported', `Cannot run the model on the CPU: ${what}`, { details });
  };
  if (hiddenSize % 4 !== 0) refuse(`it is ${hiddenSize} wide; multiples of 4 are run`, { hiddenSize });
  for (const { kv, inner } of layers.flatMap(({ blocks }) => blocks.map(blockNeeds))) {
    if (kv && kv.headDim % 8 !== 0)
      refuse(`its heads are ${kv.headDim} wide; multiples of 8 are run`, { headDim: kv.headDim });
    if (inner % 4 !== 0) refuse(`its feed-forward is ${inner} wide; multiples of 4 are run`, { inner });
  }
}
