// gate-up: inner = activation(gate(x)) * up(x) of the experts of each token.
//
// x        [rows, X_STRIDE] f32 (as vec4); with NORM RMSNorm(x) * gain is meant, whose factor is applied after the sum
// weights  [2, COUNT, SIZE, UNITS] units of 16 bytes: gate rows of all experts, then up rows; scales as the format says
// inner    [rows, INNER_STRIDE] f32: SIZE of each expert, in the order of the token's choice
// route    route.wgsl
// workgroup: LANES * ROW_LANES threads; LANES share an output and walk along its two rows
// dispatch:  (ceil(SIZE / ROW_LANES), USED, rows)
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
//#if SCALED
@group(0) @binding(2) var<storage, read> scales: array<u32>;
//#endif
@group(0) @binding(3) var<storage, read_write> inner: array<f32>;
//#if NORM
@group(0) @binding(6) var<storage, read> gain: array<vec4<f32>>;
//#endif

// Sums of gate and up, and squares
var<workgroup> partial: array<vec3<f32>, WG>;

fn joined(gate: f32, up: f32) -> f32 {
//#if CLAMPED
  let open = min(gate, 7.0);
  return open / (1.0 + exp(-1.702 * open)) * (clamp(up, -7.0, 7.0) + 1.0);
//#else
  return gate / (1.0 + exp(-gate)) * up;
//#endif
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let row = group.z;
  route(row, tid);
  let expert = chosen[group.y];
  let lane = tid % LANES;
  let n = group.x * ROW_LANES + tid / LANES;
  let gate_at = (expert * SIZE + min(n, SIZE - 1u)) * UNITS;
  let up_at = gate_at + COUNT * SIZE * UNITS;
  let start = row * (X_STRIDE / 4u);
  var sums = vec3<f32>(0.0);
  for (var u = lane; u < UNITS; u += LANES) {
    let gate_unit = weights[gate_at + u];
    let up_unit = weights[up_at + u];
    var gate_part = 0.0;
    var up_part = 0.0;
    var plain = 0.0;
    //#repeat j UNIT_VECTORS
    {
      var value = x[start + u * UNIT_X + j];
      sums.z += dot(value, value);
      //#if NORM
      value *= gain[u * UNIT_X + j];
      //#endif
      plain += dot(value, vec4<f32>(1.0));
      gate_part += dot(decode(gate_unit, j), value);
      up_part += dot(decode(up_unit, j), value);
    }
    //#endrepeat
    let gate_scale = unit_scale(gate_at + u);
    let up_scale = unit_scale(up_at + u);
    sums.x += gate_scale.x * gate_part + gate_scale.y * plain;
    sums.y += up_scale.x * up_part + up_scale.y * plain;
  }
  partial[tid] = sums;
  workgroupBarrier();
  if (lane != 0u || n >= SIZE) { return; }
  var total = vec3<f32>(0.0);
  for (var i = 0u; i < LANES; i++) { total += partial[tid + i]; }
  //#if NORM
  let factor = inverseSqrt(total.z / WIDTH + EPSILON);
  //#else
  let factor = 1.0;
  //#endif
  var gate = total.x * factor;
  var up = total.y * factor;
  //#if BIAS
  gate += extra[GATE_BIAS_AT + expert * SIZE + n];
  up += extra[UP_BIAS_AT + expert * SIZE + n];
  //#endif
  inner[row * INNER_STRIDE + group.y * SIZE + n] = joined(gate, up);
}
