// rotate: norm and rotation of the query heads of a prefill chunk, in place (scaled too), and of its key heads, which go to the cache
// with the values.
//
// qkv       [rows, QKV_STRIDE] f32: HEADS * D of query, KV_HEADS * D of key, as many of value
// step and caches: head.wgsl
// workgroup: 64 threads, for one head of one row; dispatch: (HEADS + KV_HEADS, rows)
@group(0) @binding(0) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(1) var<storage, read_write> k_cache: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> v_cache: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(4) var<storage, read> rope: array<vec2<f32>>;
//#if QK_NORM
@group(0) @binding(6) var<storage, read> head_norm: array<f32>;
//#endif

var<workgroup> raw: array<f32, D>;
var<workgroup> partial: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let row = group.y;
  let is_key = group.x >= HEADS;
  let kv_head = group.x - HEADS;
  let position = step[ROWS_AT + row * 4u + 1u];
  let slot = step[ROWS_AT + row * 4u + 2u];
  let source = row * QKV_STRIDE + group.x * D;
  for (var i = tid; i < D; i += 64u) { raw[i] = qkv[source + i]; }
  workgroupBarrier();
  //#if QK_NORM
  var squares = 0.0;
  for (var i = tid; i < D; i += 64u) { squares += raw[i] * raw[i]; }
  partial[tid] = squares;
  workgroupBarrier();
  for (var s = 32u; s > 0u; s >>= 1u) {
    if (tid < s) { partial[tid] += partial[tid + s]; }
    workgroupBarrier();
  }
  let factor = inverseSqrt(partial[0] / f32(D) + EPSILON);
  //#endif
  for (var pair = tid; pair < D / 2u; pair += 64u) {
    let a = pair_first(pair);
    let b = pair_second(pair);
    var v = vec2<f32>(raw[a], raw[b]);
    //#if QK_NORM
    let gain_at = select(0u, D, is_key);
    v *= factor * vec2<f32>(head_norm[gain_at + a], head_norm[gain_at + b]);
    //#endif
    v = turn(v, pair, position);
    raw[a] = v.x;
    raw[b] = v.y;
  }
  workgroupBarrier();
  if (!is_key) {
    for (var i = tid; i < D; i += 64u) { qkv[source + i] = raw[i] * SCALE; }
    return;
  }
  let block = block_of(slot, position);
  for (var i = tid; i < D / 8u; i += 64u) {
    let at = i * 8u;
    let low = narrow(vec4<f32>(raw[at], raw[at + 1u], raw[at + 2u], raw[at + 3u]));
    let high = narrow(vec4<f32>(raw[at + 4u], raw[at + 5u], raw[at + 6u], raw[at + 7u]));
    k_cache[k_index(block, kv_head, position) + i * 32u] = vec4<u32>(low, high);
  }
  for (var i = tid; i < D / 4u; i += 64u) {
    let at = source + KV_HEADS * D + i * 4u;
    v_cache[v_index(block, kv_head, position) + i] = narrow(vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]));
  }
}
