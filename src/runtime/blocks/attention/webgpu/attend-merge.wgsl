// attend-merge: the splits of attend-one put together.
//
// parts  [rows, HEADS, splits, D / 4 + 1] vec4: unnormalised sum, then (largest score, mass, -, -)
// out    [rows, OUT_STRIDE] f32 (as vec4): HEADS * D
// step   word 2: splits
// workgroup: WG threads, 4 dims each; dispatch: (HEADS, rows)
@group(0) @binding(0) var<storage, read> parts: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> step: array<u32>;
//#if GATED
@group(0) @binding(3) var<storage, read> qkv: array<f32>;
//#endif
//#if SINKS
@group(0) @binding(7) var<storage, read> sinks: array<f32>;
//#endif

const DIM_LANES: u32 = D / 4;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let splits = step[2];
  let start = (group.y * HEADS + group.x) * splits * (DIM_LANES + 1u);
  if (tid >= DIM_LANES) { return; }
  var largest = -3.0e38;
  for (var s = 0u; s < splits; s++) { largest = max(largest, parts[start + s * (DIM_LANES + 1u) + DIM_LANES].x); }
  //#if SINKS
  largest = max(largest, sinks[group.x]);
  //#endif
  var sum = vec4<f32>(0.0);
  var mass = 0.0;
  //#if SINKS
  mass = exp(sinks[group.x] - largest);
  //#endif
  for (var s = 0u; s < splits; s++) {
    let at = start + s * (DIM_LANES + 1u);
    let own = parts[at + DIM_LANES];
    let factor = exp(own.x - largest);
    sum += factor * parts[at + tid];
    mass += factor * own.y;
  }
  out[group.y * (OUT_STRIDE / 4u) + group.x * DIM_LANES + tid] = sum / mass * gate(group.y, group.x, tid);
}
