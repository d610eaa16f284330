// group-norm: x = RMSNorm(x) * gain, in place, for each group of a row.
//
// x [rows, STRIDE] f32: GROUPS * WIDTH; gain [GROUPS * WIDTH]; workgroup: 64 threads, for a group of a row; dispatch: (GROUPS, rows)
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> gain: array<f32>;

var<workgroup> partial: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let start = group.y * STRIDE + group.x * WIDTH;
  var squares = 0.0;
  for (var i = tid; i < WIDTH; i += 64u) { squares += x[start + i] * x[start + i]; }
  partial[tid] = squares;
  workgroupBarrier();
  for (var s = 32u; s > 0u; s >>= 1u) {
    if (tid < s) { partial[tid] += partial[tid + s]; }
    workgroupBarrier();
  }
  let factor = inverseSqrt(partial[0] / f32(WIDTH) + EPSILON);
  for (var i = tid; i < WIDTH; i += 64u) { x[start + i] = x[start + i] * factor * gain[group.x * WIDTH + i]; }
}
