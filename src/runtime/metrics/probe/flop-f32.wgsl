// flop-f32: 16 independent chains of fused multiply-adds a thread, without memory: the arithmetic peak of shaders.
// A round is 64 x 16 multiply-adds, 2048 FLOP a thread.
//
// rounds: u32; out [threads] f32
// workgroup: 256 threads; dispatch: (threads / 256)
@group(0) @binding(0) var<uniform> rounds: u32;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  // Not known to the compiler, and no chain leaves [0, 2].
  let scale = vec4<f32>(1.0 - 1.0 / f32(rounds + 2u));
  let step = vec4<f32>(1.0 / f32(rounds + 2u));
  var a = vec4<f32>(f32(id.x & 7u) * 0.125);
  var b = a + 0.25;
  var c = a + 0.5;
  var d = a + 0.75;
  for (var round = 0u; round < rounds; round++) {
    for (var k = 0u; k < 64u; k++) {
      a = fma(a, scale, step);
      b = fma(b, scale, step);
      c = fma(c, scale, step);
      d = fma(d, scale, step);
    }
  }
  let sum = a + b + c + d;
  out[id.x] = sum.x + sum.y + sum.z + sum.w;
}
