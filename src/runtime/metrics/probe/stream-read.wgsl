// stream-read: reads all of a buffer `rounds` times, as weights are read: coalesced 16-byte loads, four of them in flight a thread.
// Each round a workgroup reads another part, so that no cache near the cores helps.
//
// rounds: u32; data [vectors] vec4<u32>; sums [threads] u32, so that no load can be left out
// workgroup: 256 threads; dispatch: (vectors / 256 / 64), 64 vectors a thread and round
@group(0) @binding(0) var<uniform> rounds: u32;
@group(0) @binding(1) var<storage, read> data: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let threads = groups.x * 256u;
  var sum = vec4<u32>(0u);
  for (var round = 0u; round < rounds; round++) {
    let first = ((group.x + round * 7u) % groups.x) * 256u + local;
    for (var k = 0u; k < 64u; k += 4u) {
      let at = first + k * threads;
      let a = data[at];
      let b = data[at + threads];
      let c = data[at + 2u * threads];
      let d = data[at + 3u * threads];
      // Multiplied, so that a second round does not cancel the first.
      sum = sum * 3u + ((a ^ b) + (c ^ d));
    }
  }
  sums[group.x * 256u + local] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}
