// layer-inputs: what each token has for each layer: inputs = (RMSNorm(inputs) * gain + table * TABLE_SCALE) * sqrt(1/2).
//
// inputs [rows, STRIDE] f32: WIDTH of each layer, projected from the embedding; table [rows, STRIDE] f32: rows of the table, sent by
// the host; gain [WIDTH] f32
// workgroup: 64 threads, for a layer of a row; dispatch: (layers, rows)
@group(0) @binding(0) var<storage, read_write> inputs: array<f32>;
@group(0) @binding(1) var<storage, read> table: array<f32>;
@group(0) @binding(2) var<storage, read> gain: array<f32>;

var<workgroup> partial: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let start = group.y * STRIDE + group.x * WIDTH;
  var squares = 0.0;
  for (var i = tid; i < WIDTH; i += 64u) { squares += inputs[start + i] * inputs[start + i]; }
  partial[tid] = squares;
  workgroupBarrier();
  for (var s = 32u; s > 0u; s >>= 1u) {
    if (tid < s) { partial[tid] += partial[tid + s]; }
    workgroupBarrier();
  }
  let factor = inverseSqrt(partial[0] / f32(WIDTH) + EPSILON);
  for (var i = tid; i < WIDTH; i += 64u) {
    let projected = inputs[start + i] * factor * gain[i];
    inputs[start + i] = (projected + table[start + i] * TABLE_SCALE) * 0.70710678118654752;
  }
}
