// state: rows of the sequences of a step, and pages of the state that they go on from and leave behind. The kernel declares `step`.
//
// step  words RUNS_AT + 8 i: first row, rows, position of the first, slot, page to read, page to write (another one; page 0 is zeros)
//       words MARKS_AT + slot * MAX_BLOCKS + b: page that keeps the state after block b of 32 tokens; 0: none
struct Run {
  first: u32,
  rows: u32,
  position: u32,
  slot: u32,
  source: u32,
  goal: u32,
}

fn run_of(index: u32) -> Run {
  let at = RUNS_AT + index * 8u;
  return Run(step[at], step[at + 1u], step[at + 2u], step[at + 3u], step[at + 4u], step[at + 5u]);
}

// The page that keeps the state after the i-th row, 0: none does.
fn mark_after(run: Run, i: u32) -> u32 {
  let end = run.position + i + 1u;
  if (end % 32u != 0u) { return 0u; }
  return step[MARKS_AT + run.slot * MAX_BLOCKS + end / 32u - 1u];
}
