// flop-f16: as flop-f32, in half precision: 16 chains, 2048 FLOP a thread and round.
//
// rounds: u32; out [threads] f32
// workgroup: 256 threads; dispatch: (threads / 256)
enable f16;

@group(0) @binding(0) var<uniform> rounds: u32;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let scale = vec4<f16>(f16(1.0 - 1.0 / f32(min(rounds, 200u) + 2u)));
  let step = vec4<f16>(f16(1.0 / f32(min(rounds, 200u) + 2u)));
  var a = vec4<f16>(f16(id.x & 7u) * 0.125h);
  var b = a + 0.25h;
  var c = a + 0.5h;
  var d = a + 0.75h;
  for (var round = 0u; round < rounds; round++) {
    for (var k = 0u; k < 64u; k++) {
      a = fma(a, scale, step);
      b = fma(b, scale, step);
      c = fma(c, scale, step);
      d = fma(d, scale, step);
    }
  }
  let sum = vec4<f32>(a + b + c + d);
  out[id.x] = sum.x + sum.y + sum.z + sum.w;
}
