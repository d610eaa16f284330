// Counts tokens of prompt chunks, and takes back the counts of truncated tokens.
//
// Composed constants: STATE_STRIDE, HISTORY_OFFSET (see sample-common.wgsl).
// Bindings:
//   0 state  [slots, STATE_STRIDE] u32: counts (output count in the low 16 bits, prompt count in the high), mask, history
//   1 edit   slot, first position, number of tokens, 1 if they are added (0: taken back), then the tokens to add, with
//            bit 31 set for a prompt token
// Workgroup 256, dispatch (ceil(number of tokens / 256), 1, 1).

const PROMPT_BIT = 0x80000000u;

@group(0) @binding(0) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> edit: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  let i = invocation.x;
  if (i >= edit[2]) {
    return;
  }
  let base = edit[0] * STATE_STRIDE;
  let history = base + HISTORY_OFFSET + edit[1] + i;
  let isAdded = edit[3] == 1u;
  var word: u32;
  if (isAdded) {
    word = edit[4u + i];
    atomicStore(&state[history], word);
  } else {
    word = atomicLoad(&state[history]);
  }
  let count = base + (word & ~PROMPT_BIT);
  let amount = select(1u, 0x10000u, (word & PROMPT_BIT) != 0u);
  if (isAdded) {
    atomicAdd(&state[count], amount);
  } else {
    atomicSub(&state[count], amount);
  }
}
