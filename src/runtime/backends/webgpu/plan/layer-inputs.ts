import { bindKernel } from '../kernels/pipeline.ts';
import code from '../kernels/layer-inputs/layer-inputs.wgsl?raw';
import { composeShader } from '../kernels/template.ts';
import type { MatrixPlan } from '../weights/matrix-plan.ts';
import type { Recorder } from './gpu-block.ts';
import { inOrder, linear, recordLinears } from './matrices.ts';
import type { PlanParts } from './plan-parts.ts';

/** Values of each token for each layer, before the first layer: its embedding is projected, and joined with what the host sent. */
export async function createLayerInputs(parts: PlanParts, m: number, projection: MatrixPlan): Promise<Recorder> {
  const { gpu, compiler, config, sizes, buffers } = parts;
  const { width, layers } = config.layerEmbedding!;
  const { layerInputs, layerTable, layerNorm } = buffers;
  const options = { xStride: sizes.xStride, yStride: sizes.layerStride, scale: 1 / Math.sqrt(config.hiddenSize) };
  const [project, kernel] = await Promise.all([
    linear(parts, m, projection, options, { x: buffers.x[0], y: layerInputs! }),
    compiler.compile({
      label: 'layer inputs',
      code: composeShader(
        { WIDTH: width, STRIDE: sizes.layerStride, EPSILON: config.normEps, TABLE_SCALE: Math.sqrt(width) },
        code,
      ),
      bindings: { 0: 'write', 1: 'read', 2: 'read' },
    }),
  ]);
  const join = bindKernel(gpu.device, kernel, { 0: layerInputs!, 1: layerTable!, 2: layerNorm! }, [layers]);
  return inOrder([recordLinears([project], m), (run, { rows }) => run(join, join.x, rows)]);
}
