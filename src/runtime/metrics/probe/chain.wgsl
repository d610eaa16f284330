// chain: adds one to a counter. Each dispatch needs the result of the one before, as the kernels of a decode step do.
//
// counter [1] u32
// workgroup: 1 thread; dispatch: (1)
@group(0) @binding(0) var<storage, read_write> counter: array<u32>;

@compute @workgroup_size(1)
fn main() {
  counter[0] += 1u;
}
