// INT4: a unit is a group of 32 weights in 16 bytes; byte j holds weights j (low nibble) and j + 16 (high nibble).
// weight = scale * q + minimum, with q in 0..15. Without MINIMUM the minimum is -8 * scale.
// scales: f16, two to a word, unit u at half u; with MINIMUM one word a unit: scale in the low half, minimum in the high.
const UNIT_X = 8u;
// the j-th four weights, before scale and minimum
fn decode(q: vec4<u32>, j: u32) -> vec4<f32> {
  return unpack_u8((q[j & 3u] >> ((j >> 2u) << 2u)) & 0x0f0f0f0fu);
}
// the 16 weights of a half (the parity of `group`) as bytes
fn bytes16(q: vec4<u32>, group: u32) -> vec4<u32> {
  return (q >> vec4<u32>((group & 1u) * 4u)) & vec4<u32>(0x0f0f0f0fu);
}
// x: scale, y: minimum
fn unit_scale(unit: u32) -> vec2<f32> {
//#if MINIMUM
  return unpack2x16float(scales[unit]);
//#else
  let pair = unpack2x16float(scales[unit >> 1u]);
  let scale = select(pair.x, pair.y, (unit & 1u) == 1u);
  return vec2<f32>(scale, -8.0 * scale);
//#endif
}
