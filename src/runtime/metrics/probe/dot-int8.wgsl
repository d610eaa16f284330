// dot-int8: 16 independent chains of packed dot products of four INT8 a thread: 8 operations each, 8192 a thread and round.
// Needs the WGSL language feature packed_4x8_integer_dot_product.
//
// rounds: u32; out [threads] u32
// workgroup: 256 threads; dispatch: (threads / 256)
@group(0) @binding(0) var<uniform> rounds: u32;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let weight = id.x * 2654435761u + rounds;
  var a = bitcast<vec4<i32>>(vec4<u32>(id.x) + vec4<u32>(0u, 5u, 11u, 17u));
  var b = a * 3;
  var c = a * 5;
  var d = a * 7;
  for (var round = 0u; round < rounds; round++) {
    for (var k = 0u; k < 64u; k++) {
      a += vec4<i32>(dot4I8Packed(bitcast<u32>(a.x), weight), dot4I8Packed(bitcast<u32>(a.y), weight),
                     dot4I8Packed(bitcast<u32>(a.z), weight), dot4I8Packed(bitcast<u32>(a.w), weight));
      b += vec4<i32>(dot4I8Packed(bitcast<u32>(b.x), weight), dot4I8Packed(bitcast<u32>(b.y), weight),
                     dot4I8Packed(bitcast<u32>(b.z), weight), dot4I8Packed(bitcast<u32>(b.w), weight));
      c += vec4<i32>(dot4I8Packed(bitcast<u32>(c.x), weight), dot4I8Packed(bitcast<u32>(c.y), weight),
                     dot4I8Packed(bitcast<u32>(c.z), weight), dot4I8Packed(bitcast<u32>(c.w), weight));
      d += vec4<i32>(dot4I8Packed(bitcast<u32>(d.x), weight), dot4I8Packed(bitcast<u32>(d.y), weight),
                     dot4I8Packed(bitcast<u32>(d.z), weight), dot4I8Packed(bitcast<u32>(d.w), weight));
    }
  }
  let sum = bitcast<vec4<u32>>(a ^ b ^ c ^ d);
  out[id.x] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}
