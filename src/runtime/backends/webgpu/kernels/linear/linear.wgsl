// linear: y[m, n] = epilogue(sum over k of W[n, k] * in[m, k]) for M rows at a time; weights are read once for all M.
//
// x        [rows, X_STRIDE] f32 (as vec4), zero beyond the true width
// weights  [N, UNITS] units of 16 bytes; scales as the format says
// y        [rows, Y_STRIDE] f32, written from column Y_OFFSET
// in       x, or with NORM: RMSNorm(x) * gain, whose factor is applied after the sum
//          with POST_NORM: x + RMSNorm(t) * post_gain first (Gemma), with POST_SCALED times what comes after these gains; workgroup 0
//          stores that in x_out
//          with GATHER: row m of in is row step[GATHER_AT + m] of x
// epilogue epilogue.wgsl
//
// workgroup: WG = TK * TR threads; TK threads share a row and walk along it, each has ROWS rows of TR * ROWS a workgroup. DIRECT: they
//            are in one subgroup, and no workgroup memory or barrier is needed
// dispatch:  (ceil(N_OUT / outputs per workgroup), ceil(rows / M)); outputs per workgroup: TR * ROWS, halved with GATED
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
//#if SCALED
@group(0) @binding(2) var<storage, read> scales: array<u32>;
//#endif
//#if NORM
@group(0) @binding(4) var<storage, read> gain: array<vec4<f32>>;
//#endif
//#if POST_NORM
@group(0) @binding(6) var<storage, read> t: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> post_gain: array<vec4<f32>>;
//#endif
//#if X_OUT
@group(0) @binding(8) var<storage, read_write> x_out: array<vec4<f32>>;
//#endif
//#if GATHER
@group(0) @binding(9) var<storage, read> step: array<u32>;
//#endif

// Outputs of a workgroup; PER_LANE of them from the threads that share a row.
const OUTPUTS: u32 = TR * PER_LANE;

// [ROWS + 1, WG]: partial sums of the rows, and of the squares
var<workgroup> partial: array<f32, PARTIALS>;

fn row_of(group: u32, row_lane: u32, r: u32) -> u32 {
//#if GATED
  let half = ROWS / 2u;
  let n = min((group * TR + row_lane) * half + r % half, N_OUT - 1u);
  return n + select(0u, N_OUT, r >= half);
//#else
  return min((group * TR + row_lane) * ROWS + r, N_OUT - 1u);
//#endif
}

@compute @workgroup_size(WG)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
//#if SUBGROUPS
  @builtin(subgroup_size) subgroup_size: u32,
//#endif
) {
  let lane = tid % TK;
  let row_lane = tid / TK;
  let first = group.y * M;
  //#unroll m M
  //#if GATHER
  let from_$m = step[GATHER_AT + first + $mu] * (X_STRIDE / 4u);
  //#else
  let from_$m = (first + $mu) * (X_STRIDE / 4u);
  //#endif
  //#endunroll

  //#if POST_NORM
  // Every workgroup needs the norm of the whole of t.
  //#unroll m M
  var tt_$m = 0.0;
  //#endunroll
  for (var i = tid; i < X_VECTORS; i += WG) {
    //#unroll m M
    let t_$m = t[from_$m + i];
    tt_$m += dot(t_$m, t_$m);
    //#endunroll
  }
  //#unroll m M
  partial[tid] = tt_$m;
  workgroupBarrier();
  for (var s = WG / 2u; s > 0u; s >>= 1u) {
    if (tid < s) { partial[tid] += partial[tid + s]; }
    workgroupBarrier();
  }
  let inv_$m = inverseSqrt(partial[0] / WIDTH + EPSILON);
  workgroupBarrier();
  //#endunroll
  //#endif

  //#unroll r ROWS
  let row_$r = row_of(group.x, row_lane, $ru) * UNITS;
  //#unroll m M
  var sum_$r_$m = 0.0;
  //#endunroll
  //#endunroll
  //#if NORM
  //#unroll m M
  var squares_$m = 0.0;
  //#endunroll
  //#endif

  for (var u = lane; u < UNITS; u += TK) {
    let at = u * UNIT_X;
    //#unroll r ROWS
    let q_$r = weights[row_$r + u];
    //#unroll m M
    var part_$r_$m = 0.0;
    //#endunroll
    //#endunroll
    //#if OFFSET
    //#unroll m M
    var plain_$m = 0.0;
    //#endunroll
    //#endif
    //#repeat j UNIT_VECTORS
    //#unroll r ROWS
    let w_$r = decode(q_$r, j);
    //#endunroll
    //#if NORM
    let gain = gain[at + j];
    //#endif
    //#if POST_NORM
    let post = post_gain[at + j];
    //#endif
    //#unroll m M
    var x_$m = x[from_$m + at + j];
    //#if POST_NORM
    x_$m += t[from_$m + at + j] * inv_$m * post;
    //#if POST_SCALED
    x_$m *= post_gain[X_STRIDE / 4u].x;
    //#endif
    //#if X_OUT
    if (group.x == 0u && row_lane == 0u) { x_out[from_$m + at + j] = x_$m; }
    //#endif
    //#endif
    //#if NORM
    squares_$m += dot(x_$m, x_$m);
    x_$m *= gain;
    //#endif
    //#if OFFSET
    plain_$m += dot(x_$m, vec4<f32>(1.0));
    //#endif
    //#unroll r ROWS
    part_$r_$m += dot(w_$r, x_$m);
    //#endunroll
    //#endunroll
    //#endrepeat
    //#unroll r ROWS
    //#if SCALED
    let scale_$r = unit_scale(row_$r + u);
    //#endif
    //#unroll m M
    //#if OFFSET
    sum_$r_$m += scale_$r.x * part_$r_$m + scale_$r.y * plain_$m;
    //#else
    //#if SCALED
    sum_$r_$m += scale_$r.x * part_$r_$m;
    //#else
    sum_$r_$m += part_$r_$m;
    //#endif
    //#endif
    //#endunroll
    //#endunroll
  }

  //#if DIRECT
  // The TK threads of a row are within one subgroup (or are one thread): every lane gets the sums, and lane r stores row r.
  //#unroll m M
  //#if SHUFFLE
  for (var mask = TK / 2u; mask > 0u; mask >>= 1u) {
    //#unroll r ROWS
    sum_$r_$m += subgroupShuffleXor(sum_$r_$m, mask);
    //#endunroll
    //#if NORM
    squares_$m += subgroupShuffleXor(squares_$m, mask);
    //#endif
  }
  //#endif
  //#if NORM
  let factor_$m = inverseSqrt(squares_$m / WIDTH + EPSILON);
  //#else
  let factor_$m = 1.0;
  //#endif
  //#endunroll
  //#unroll r PER_LANE
  if (lane == $ru % TK) {
    let n = group.x * OUTPUTS + row_lane * PER_LANE + $ru;
    if (n < N_OUT) {
      //#unroll m M
      //#if GATED
      store(first + $mu, n, sum_$r_$m * factor_$m, sum_$(r+PER_LANE)_$m * factor_$m);
      //#else
      store(first + $mu, n, sum_$r_$m * factor_$m, 0.0);
      //#endif
      //#endunroll
    }
  }
  //#endunroll
  //#else
  // Sums over the TK threads of a row: within subgroups by shuffles, the rest through workgroup memory.
  //#if SUBGROUPS
  let span = min(subgroup_size, TK);
  //#else
  let span = 1u;
  //#endif
  //#unroll m M
  {
    //#if SUBGROUPS
    for (var mask = span / 2u; mask > 0u; mask >>= 1u) {
      //#unroll r ROWS
      sum_$r_$m += subgroupShuffleXor(sum_$r_$m, mask);
      //#endunroll
      //#if NORM
      squares_$m += subgroupShuffleXor(squares_$m, mask);
      //#endif
    }
    //#endif
    if (lane % span == 0u) {
      let slot = row_lane * TK + lane / span;
      //#unroll r ROWS
      partial[$ru * WG + slot] = sum_$r_$m;
      //#endunroll
      //#if NORM
      partial[ROWS * WG + slot] = squares_$m;
      //#endif
    }
    workgroupBarrier();
    if (tid < OUTPUTS) {
      let n = group.x * OUTPUTS + tid;
      let slot = (tid / PER_LANE) * TK;
      let r = tid % PER_LANE;
      var total = 0.0;
      //#if GATED
      var up = 0.0;
      //#endif
      //#if NORM
      var squares = 0.0;
      //#endif
      for (var i = 0u; i < TK / span; i++) {
        total += partial[r * WG + slot + i];
        //#if GATED
        up += partial[(r + PER_LANE) * WG + slot + i];
        //#endif
        //#if NORM
        squares += partial[ROWS * WG + slot + i];
        //#endif
      }
      //#if NORM
      let factor = inverseSqrt(squares / WIDTH + EPSILON);
      //#else
      let factor = 1.0;
      //#endif
      if (n < N_OUT) {
        //#if GATED
        store(first + $mu, n, total * factor, up * factor);
        //#else
        store(first + $mu, n, total * factor, 0.0);
        //#endif
      }
    }
    workgroupBarrier();
  }
  //#endunroll
  //#endif
}
