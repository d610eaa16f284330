// Four bytes of a word as floats, lowest byte first: unsigned and signed.
//#if PACKED_4X8
fn unpack_u8(word: u32) -> vec4<f32> { return vec4<f32>(unpack4xU8(word)); }
fn unpack_i8(word: u32) -> vec4<f32> { return vec4<f32>(unpack4xI8(word)); }
//#else
fn unpack_u8(word: u32) -> vec4<f32> {
  return vec4<f32>((vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu));
}
fn unpack_i8(word: u32) -> vec4<f32> {
  return vec4<f32>((vec4<i32>(bitcast<i32>(word)) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u));
}
//#endif
