import type { TemplateValues } from '../kernels/template.ts';
import type { StepLayout } from '../step-layout.ts';

/** Values that `kernels/state/state.wgsl` takes. */
export function stateValues({ runsAt, marksAt, maxBlocks }: StepLayout): TemplateValues {
  return { RUNS_AT: runsAt, MARKS_AT: marksAt, MAX_BLOCKS: maxBlocks };
}
