// F32: a unit is 4 weights in 16 bytes, in order.
const UNIT_X = 1u;
fn decode(q: vec4<u32>, j: u32) -> vec4<f32> { return bitcast<vec4<f32>>(q); }
fn unit_scale(unit: u32) -> vec2<f32> { return vec2<f32>(1.0, 0.0); }
