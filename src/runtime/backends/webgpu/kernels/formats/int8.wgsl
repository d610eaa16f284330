// INT8: a unit is a group of 16 weights in 16 bytes, in order.
// weight = scale * q (+ minimum with MINIMUM), with q in -128..127.
// scales: f16, two to a word, unit u at half u; with MINIMUM one word a unit: scale in the low half, minimum in the high.
const UNIT_X = 4u;
fn decode(q: vec4<u32>, j: u32) -> vec4<f32> { return unpack_i8(q[j]); }
fn bytes16(q: vec4<u32>, group: u32) -> vec4<u32> { return q; }
fn unit_scale(unit: u32) -> vec2<f32> {
//#if MINIMUM
  return unpack2x16float(scales[unit]);
//#else
  let pair = unpack2x16float(scales[unit >> 1u]);
  return vec2<f32>(select(pair.x, pair.y, (unit & 1u) == 1u), 0.0);
//#endif
}
