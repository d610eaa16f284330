// delta-net: convolution, delta rule, norm and gate of the rows of every sequence of a step.
//
// inputs   [rows, IN_STRIDE] f32: CHANNELS of query (KEY_HEADS * S), key (as many) and value (VALUE_HEADS * S); then VALUE_HEADS * S of
//          gate, VALUE_HEADS of beta, VALUE_HEADS of alpha
// weights  f32: kernel [CHANNELS, TAPS], bias of alpha [VALUE_HEADS], decay [VALUE_HEADS], gain of the norm [S]
// states   [pages, STATE] f32: inputs of the convolution [TAPS - 1, CHANNELS], the oldest first; then matrices [VALUE_HEADS, S keys, S values]
// step     runs and marks: state.wgsl
// out      [rows, OUT_STRIDE] f32: VALUE_HEADS * S
//
// workgroup: S * PARTS threads, for a value head; a thread has S / PARTS = 4 * FOURS keys of one value's column of the matrix
// dispatch:  (VALUE_HEADS, sequences)
@group(0) @binding(0) var<storage, read> inputs: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> states: array<f32>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

const WG: u32 = S * PARTS;
const BIAS_AT: u32 = CHANNELS * TAPS;
const DECAY_AT: u32 = BIAS_AT + VALUE_HEADS;
const GAIN_AT: u32 = DECAY_AT + VALUE_HEADS;
const MATRICES_AT: u32 = BEFORE * CHANNELS;

// Query, key and value of the head: [3, S / 4]
var<workgroup> qkv: array<vec4<f32>, 3 * S / 4>;
// [PARTS, S]: sums over each part's keys
var<workgroup> partial: array<vec4<f32>, WG>;
var<workgroup> given: array<vec4<f32>, S / 4>;

fn channel_of(head: u32, i: u32) -> u32 {
  let which = i / S;
  let key_head = head % KEY_HEADS;
  return select(which * KEY_HEADS + key_head, 2u * KEY_HEADS + head, which == 2u) * S + i % S;
}

fn silu(v: f32) -> f32 { return v / (1.0 + exp(-v)); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let head = group.x;
  let run = run_of(group.y);
  let column = tid % S;
  let part = tid / S;
  let matrix_at = MATRICES_AT + head * S * S + part * (4u * FOURS) * S + column;
  let source = run.source * STATE;
  //#unroll f FOURS
  var m_$f: vec4<f32>;
  //#unroll e 4
  m_$f[$e] = states[source + matrix_at + ($fu * 4u + $eu) * S];
  //#endunroll
  //#endunroll
  // This thread's channels of the convolution.
  //#unroll c THREAD_CHANNELS
  let own_$c = min(tid + $cu * WG, 3u * S - 1u);
  let channel_$c = channel_of(head, own_$c);
  //#unroll t BEFORE
  var past_$c_$t = states[source + $tu * CHANNELS + channel_$c];
  //#endunroll
  //#endunroll
  let bias = weights[BIAS_AT + head];
  let decay = weights[DECAY_AT + head];

  for (var i = 0u; i < run.rows; i++) {
    let row = (run.first + i) * IN_STRIDE;
    //#unroll c THREAD_CHANNELS
    {
      let now = inputs[row + channel_$c];
      var sum = weights[channel_$c * TAPS + BEFORE] * now;
      //#unroll t BEFORE
      sum += weights[channel_$c * TAPS + $tu] * past_$c_$t;
      //#endunroll
      //#unroll t BEFORE_LAST
      past_$c_$t = past_$c_$(t+ONE);
      //#endunroll
      //#unroll z 1
      past_$c_$(z+BEFORE_LAST) = now;
      //#endunroll
      qkv[own_$c / 4u][own_$c % 4u] = silu(sum);
    }
    //#endunroll
    workgroupBarrier();

    // What the matrix gives for the key, and squared lengths of key and query; all of this part's keys.
    let a = inputs[row + CHANNELS + VALUE_HEADS * S + VALUE_HEADS + head] + bias;
    let keep = exp(decay * select(log(1.0 + exp(a)), a, a > 20.0));
    let write = 1.0 / (1.0 + exp(-inputs[row + CHANNELS + VALUE_HEADS * S + head]));
    var sums = vec4<f32>(0.0);
    //#unroll f FOURS
    let q_$f = qkv[part * FOURS + $fu];
    let k_$f = qkv[S / 4u + part * FOURS + $fu];
    sums += vec4<f32>(dot(k_$f, m_$f), dot(k_$f, k_$f), dot(q_$f, q_$f), 0.0);
    //#endunroll
    partial[tid] = sums;
    workgroupBarrier();
    sums = vec4<f32>(0.0);
    for (var p = 0u; p < PARTS; p++) { sums += partial[p * S + column]; }
    let key_factor = inverseSqrt(sums.y + EPSILON);
    let value = qkv[S / 2u + column / 4u][column % 4u];
    let correction = (value - sums.x * key_factor * keep) * write * key_factor;
    var read = 0.0;
    //#unroll f FOURS
    m_$f = m_$f * keep + k_$f * correction;
    read += dot(q_$f, m_$f);
    //#endunroll
    let query_factor = inverseSqrt(sums.z + EPSILON) * SCALE;
    workgroupBarrier();
    partial[tid].x = read;
    workgroupBarrier();
    if (part == 0u) {
      read = 0.0;
      for (var p = 0u; p < PARTS; p++) { read += partial[p * S + column].x; }
      read *= query_factor;
      given[column / 4u][column % 4u] = read;
    }
    workgroupBarrier();
    if (part == 0u) {
      var squares = 0.0;
      for (var v = 0u; v < S / 4u; v++) { squares += dot(given[v], given[v]); }
      let normed = read * inverseSqrt(squares / f32(S) + EPSILON) * weights[GAIN_AT + column];
      let gate = inputs[row + CHANNELS + head * S + column];
      out[(run.first + i) * OUT_STRIDE + head * S + column] = normed * silu(gate);
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
      states[to + matrix_at + ($fu * 4u + $eu) * S] = m_$f[$e];
      //#endunroll
      //#endunroll
      // Heads that share a query and key write the same there.
      //#unroll c THREAD_CHANNELS
      //#unroll t BEFORE
      states[to + $tu * CHANNELS + channel_$c] = past_$c_$t;
      //#endunroll
      //#endunroll
    }
  }
}
