// fill: data[i] = a hash of i, so that no memory page is shared, and nothing compresses.
//
// data [vectors] vec4<u32>
// workgroup: 256 threads; dispatch: (vectors / 256 / 64), 64 vectors a thread
@group(0) @binding(0) var<storage, read_write> data: array<vec4<u32>>;

fn hash(value: u32) -> u32 {
  var x = value * 747796405u + 2891336453u;
  x = ((x >> ((x >> 28u) + 4u)) ^ x) * 277803737u;
  return (x >> 22u) ^ x;
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let threads = groups.x * 256u;
  for (var k = 0u; k < 64u; k++) {
    let at = id.x + k * threads;
    data[at] = vec4<u32>(hash(4u * at), hash(4u * at + 1u), hash(4u * at + 2u), hash(4u * at + 3u));
  }
}
