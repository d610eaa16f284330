// Gates of heads (GATED): with qkv declared as array<f32>, four of them as factors. GATE_AT: word of a row of qkv where they begin.
//#if GATED
fn gate(row: u32, head: u32, dim_lane: u32) -> vec4<f32> {
  let at = row * QKV_STRIDE + GATE_AT + head * D + dim_lane * 4u;
  let v = vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
  return 1.0 / (1.0 + exp(-v));
}
//#else
fn gate(row: u32, head: u32, dim_lane: u32) -> vec4<f32> { return vec4<f32>(1.0); }
//#endif
