// F16: a unit is 8 weights in 16 bytes, in order.
const UNIT_X = 2u;
fn decode(q: vec4<u32>, j: u32) -> vec4<f32> {
  let pair = select(q.xy, q.zw, j == 1u);
  return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
}
fn unit_scale(unit: u32) -> vec2<f32> { return vec2<f32>(1.0, 0.0); }
