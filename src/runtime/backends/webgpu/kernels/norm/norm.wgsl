// norm: out[m] = RMSNorm(x[m]) * gain (without NORM x[m] as it is), for the rows of a prefill chunk.
// With POST_NORM x[m] += RMSNorm(t[m]) * post_gain first, stored in place (Gemma), with POST_SCALED times
// what comes after these gains.
//
// x, t, out [rows, STRIDE] f32 (as vec4); gains [STRIDE] f32, zero beyond the width
// workgroup: 64 threads a row; dispatch: (rows)
@group(0) @binding(0) var<storage, read_write> x: array<vec4<f32>>;
//#if NORM
@group(0) @binding(1) var<storage, read> gain: array<vec4<f32>>;
//#endif
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
//#if POST_NORM
@group(0) @binding(3) var<storage, read> t: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> post_gain: array<vec4<f32>>;
//#endif

var<workgroup> partial: array<f32, 64>;

fn inverse_rms(tid: u32, squares: f32) -> f32 {
  workgroupBarrier();
  partial[tid] = squares;
  workgroupBarrier();
  for (var s = 32u; s > 0u; s >>= 1u) {
    if (tid < s) { partial[tid] += partial[tid + s]; }
    workgroupBarrier();
  }
  return inverseSqrt(partial[0] / WIDTH + EPSILON);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let at = group.x * (STRIDE / 4u);
  var squares = 0.0;
  //#if POST_NORM
  for (var i = tid; i < VECTORS; i += 64u) { squares += dot(t[at + i], t[at + i]); }
  let post = inverse_rms(tid, squares);
  squares = 0.0;
  for (var i = tid; i < VECTORS; i += 64u) {
    var sum = x[at + i] + t[at + i] * post * post_gain[i];
    //#if POST_SCALED
    sum *= post_gain[STRIDE / 4u].x;
    //#endif
    x[at + i] = sum;
    squares += dot(sum, sum);
  }
  //#else
  for (var i = tid; i < VECTORS; i += 64u) { squares += dot(x[at + i], x[at + i]); }
  //#endif
  // x[at + i] was written by this same thread
  //#if NORM
  let factor = inverse_rms(tid, squares);
  for (var i = tid; i < VECTORS; i += 64u) { out[at + i] = x[at + i] * factor * gain[i]; }
  //#else
  for (var i = tid; i < VECTORS; i += 64u) { out[at + i] = x[at + i]; }
  //#endif
}
