// mamba2: convolution, state and gate of the rows of every sequence of a step.
//
// inputs   [rows, IN_STRIDE] f32: INNER = HEADS * D of gate; CHANNELS of x (INNER), B and C (GROUPS * S each); HEADS of time step
// weights  f32: kernel [CHANNELS, TAPS], its bias [CHANNELS], bias of the time step [HEADS], decay [HEADS], skip [HEADS]
// states   [pages, STATE] f32: inputs of the convolution [TAPS - 1, CHANNELS], the oldest first; then matrices [HEADS, S, D]
// step     runs and marks: state.wgsl
// out      [rows, OUT_STRIDE] f32: INNER
//
// workgroup: D * PARTS threads, for a head; a thread has S / PARTS = 4 * FOURS of one row of its matrix; dispatch: (HEADS, sequences)
@group(0) @binding(0) var<storage, read> inputs: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> states: array<f32>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

const WG: u32 = D * PARTS;
const INNER: u32 = HEADS * D;
const OWN: u32 = D + 2 * S;
const KERNEL_BIAS_AT: u32 = CHANNELS * TAPS;
const STEP_BIAS_AT: u32 = KERNEL_BIAS_AT + CHANNELS;
const DECAY_AT: u32 = STEP_BIAS_AT + HEADS;
const SKIP_AT: u32 = DECAY_AT + HEADS;
const MATRICES_AT: u32 = BEFORE * CHANNELS;

// x of the head, then B and C of its group
var<workgroup> mixed: array<f32, OWN>;
// [PARTS, D]
var<workgroup> partial: array<f32, WG>;

fn channel_of(head: u32, i: u32) -> u32 {
  if (i < D) { return head * D + i; }
  let group = head / (HEADS / GROUPS);
  let j = i - D;
  return INNER + (j / S) * GROUPS * S + group * S + j % S;
}

fn silu(v: f32) -> f32 { return v / (1.0 + exp(-v)); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let head = group.x;
  let run = run_of(group.y);
  let d = tid % D;
  let first = (tid / D) * (4u * FOURS);
  let matrix_at = MATRICES_AT + (head * S + first) * D + d;
  let source = run.source * STATE;
  //#unroll f FOURS
  var m_$f: vec4<f32>;
  //#unroll e 4
  m_$f[$e] = states[source + matrix_at + ($fu * 4u + $eu) * D];
  //#endunroll
  //#endunroll
  //#unroll c THREAD_CHANNELS
  let own_$c = min(tid + $cu * WG, OWN - 1u);
  let channel_$c = channel_of(head, own_$c);
  //#unroll t BEFORE
  var past_$c_$t = states[source + $tu * CHANNELS + channel_$c];
  //#endunroll
  //#endunroll
  let step_bias = weights[STEP_BIAS_AT + head];
  let decay = weights[DECAY_AT + head];
  let skip = weights[SKIP_AT + head];

  for (var i = 0u; i < run.rows; i++) {
    let row = (run.first + i) * IN_STRIDE;
    //#unroll c THREAD_CHANNELS
    {
      let now = inputs[row + INNER + channel_$c];
      var sum = weights[KERNEL_BIAS_AT + channel_$c] + weights[channel_$c * TAPS + BEFORE] * now;
      //#unroll t BEFORE
      sum += weights[channel_$c * TAPS + $tu] * past_$c_$t;
      //#endunroll
      //#unroll t BEFORE_LAST
      past_$c_$t = past_$c_$(t+ONE);
      //#endunroll
      //#unroll z 1
      past_$c_$(z+BEFORE_LAST) = now;
      //#endunroll
      mixed[own_$c] = silu(sum);
    }
    //#endunroll
    workgroupBarrier();
    let a = inputs[row + INNER + CHANNELS + head] + step_bias;
    let size = select(log(1.0 + exp(a)), a, a > 20.0);
    let keep = exp(size * decay);
    let x = mixed[d];
    var read = 0.0;
    //#unroll f FOURS
    {
      let b = D + first + $fu * 4u;
      let c = b + S;
      m_$f = m_$f * keep + x * size * vec4<f32>(mixed[b], mixed[b + 1u], mixed[b + 2u], mixed[b + 3u]);
      read += dot(m_$f, vec4<f32>(mixed[c], mixed[c + 1u], mixed[c + 2u], mixed[c + 3u]));
    }
    //#endunroll
    partial[tid] = read;
    workgroupBarrier();
    if (tid < D) {
      read = skip * x;
      for (var p = 0u; p < PARTS; p++) { read += partial[p * D + d]; }
      out[(run.first + i) * OUT_STRIDE + head * D + d] = read * silu(inputs[row + head * D + d]);
    }

    var page = mark_after(run, i);
    let is_last = i + 1u == run.rows;
    // The mark, if there is one; and after the last row the page that the next step begins from.
    for (var copy = 0u; copy < 2u; copy++) {
      if (copy == 1u) { page = select(0u, run.goal, is_last); }
      if (page == 0u) { continue; }
      let to = page * STATE;
      //#unroll f FOURS
      //#unroll e 4
      states[to + matrix_at + ($fu * 4u + $eu) * D] = m_$f[$e];
      //#endunroll
      //#endunroll
      // Heads of a group write the same for B and C.
      //#unroll c THREAD_CHANNELS
      //#unroll t BEFORE
      states[to + $tu * CHANNELS + channel_$c] = past_$c_$t;
      //#endunroll
      //#endunroll
    }
    // `mixed` is written again by the next row.
    workgroupBarrier();
  }
}
