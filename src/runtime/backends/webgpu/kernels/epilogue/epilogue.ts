import type { TemplateValues } from '../template.ts';

/** What becomes of the sums of a matrix product. */
export interface EpilogueSpec {
  /** Rows of the matrix. With `gated`, gate rows come first and as many up rows after them. */
  rows: number;
  /** f32 between two rows of y; a multiple of 4. */
  yStride: number;
  /** First column of y. @default 0 */
  yOffset?: number;
  bias?: boolean;
  residual?: boolean;
  /** What the result is multiplied with, before the residual is added. @default 1 */
  scale?: number;
  gated?: 'silu' | 'gelu';
  /** Results go through the activation, and are multiplied with a row of values: `stride` between rows, from a column on. */
  factor?: { stride: number; from: number; activation: 'silu' | 'gelu' };
  /** Results are capped softly, after all else: cap * tanh(result / cap). */
  softcap?: number | undefined;
}

/** Values that `epilogue.wgsl` takes. @param bounded `store` is called beyond the rows of the step and the columns of y too */
export function epilogueValues(spec: EpilogueSpec, bounded: boolean): TemplateValues {
  const gated = spec.gated !== undefined;
  return {
    BIAS: spec.bias === true,
    RESIDUAL: spec.residual === true,
    SOFTCAP: spec.softcap ?? 0,
    FACTOR: (spec.scale ?? 1) === 1 ? 0 : spec.scale!,
    GATED: gated,
    GELU: (spec.factor?.activation ?? spec.gated) === 'gelu',
    MULTIPLIED: spec.factor !== undefined,
    MULTIPLIER_STRIDE: spec.factor?.stride ?? 0,
    MULTIPLIER_FROM: spec.factor?.from ?? 0,
    BOUNDED: bounded,
    N_OUT: gated ? spec.rows / 2 : spec.rows,
    Y_STRIDE: spec.yStride,
    Y_OFFSET: spec.yOffset ?? 0,
  };
}
