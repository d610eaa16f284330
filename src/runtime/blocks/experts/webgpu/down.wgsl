// down: the weighted sum of what the experts of each token give, times FACTOR; with RESIDUAL added to what y holds.
//
// inner    [rows, INNER_STRIDE] f32 (as vec4): SIZE of each expert, a multiple of 4
// weights  [COUNT, HIDDEN, UNITS] units of 16 bytes; scales as the format says
// y        [rows, Y_STRIDE] f32
// route    route.wgsl
// workgroup: LANES * ROW_LANES threads; LANES share an output; dispatch: (ceil(HIDDEN / ROW_LANES), rows)
@group(0) @binding(0) var<storage, read> inner: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
//#if SCALED
@group(0) @binding(2) var<storage, read> scales: array<u32>;
//#endif
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

const VECTORS: u32 = SIZE / 4;

var<workgroup> partial: array<f32, WG>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let row = group.y;
  route(row, tid);
  let lane = tid % LANES;
  let n = group.x * ROW_LANES + tid / LANES;
  var sum = 0.0;
  for (var place = 0u; place < USED; place++) {
    let expert = chosen[place];
    let at = (expert * HIDDEN + min(n, HIDDEN - 1u)) * UNITS;
    let start = row * (INNER_STRIDE / 4u) + place * VECTORS;
    var own = 0.0;
    for (var u = lane; u < UNITS; u += LANES) {
      let unit = weights[at + u];
      var part = 0.0;
      var plain = 0.0;
      //#repeat j UNIT_VECTORS
      {
        // Beyond the expert's own values lie those of the next; the row has zeros there, but scales of whole units may not.
        let value = select(vec4<f32>(0.0), inner[start + u * UNIT_X + j], u * UNIT_X + j < VECTORS);
        plain += dot(value, vec4<f32>(1.0));
        part += dot(decode(unit, j), value);
      }
      //#endrepeat
      let scale = unit_scale(at + u);
      own += scale.x * part + scale.y * plain;
    }
    //#if BIAS
    if (lane == 0u) { own += extra[DOWN_BIAS_AT + expert * HIDDEN + min(n, HIDDEN - 1u)]; }
    //#endif
    sum += own * weight_of(place);
  }
  partial[tid] = sum;
  workgroupBarrier();
  if (lane != 0u || n >= HIDDEN) { return; }
  var total = 0.0;
  for (var i = 0u; i < LANES; i++) { total += partial[tid + i]; }
  total *= FACTOR;
  //#if RESIDUAL
  total += y[row * Y_STRIDE + n];
  //#endif
  y[row * Y_STRIDE + n] = total;
}
