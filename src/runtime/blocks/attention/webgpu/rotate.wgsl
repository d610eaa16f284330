// rotate: norm and rotation of the query heads of a prefill chunk (scaled too), and of its key heads, which go to the cache with the
// values. No thread waits for another: each reads what it needs of its head.
//
// qkv       [rows, QKV_STRIDE] f32: HEADS * D of query, KV_HEADS * D of key, as many of value
// out       [rows, OUT_STRIDE] f32: HEADS * D of query
// step's other words and caches: head.wgsl
// workgroup: 64 threads, each for a pair of a query head, or for 8 dims of a key and value head
// step      word 3: rows before the first of these, which attend one by one
// dispatch:  (ceil(ITEMS / 64), rows of these), ITEMS = HEADS * D / 2 + KV_HEADS * D / 8
@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read_write> k_cache: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> v_cache: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(4) var<storage, read> rope: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;
//#if QK_NORM
@group(0) @binding(6) var<storage, read> head_norm: array<f32>;
//#endif

const QUERY_ITEMS: u32 = HEADS * D / 2;
const ITEMS: u32 = QUERY_ITEMS + KV_HEADS * D / 8;

fn head_factor(head: u32) -> f32 {
//#if QK_NORM
  var squares = 0.0;
  for (var d = 0u; d < D; d++) { squares += qkv[head + d] * qkv[head + d]; }
  return inverseSqrt(squares / f32(D) + EPSILON);
//#else
  return 1.0;
//#endif
}

// Factor of the norm of the value head that begins at word `head`.
fn value_factor(head: u32) -> f32 {
//#if VALUE_NORM
  var squares = 0.0;
  for (var d = 0u; d < D; d++) { squares += qkv[head + d] * qkv[head + d]; }
  return inverseSqrt(squares / f32(D) + VALUE_EPSILON);
//#else
  return 1.0;
//#endif
}

// Pair of a head that begins at word `head`, normed and turned. gain_at: where its gains begin.
fn turned(head: u32, pair: u32, position: u32, factor: f32, gain_at: u32) -> vec2<f32> {
  let a = pair_first(pair);
  let b = pair_second(pair);
  var v = vec2<f32>(qkv[head + a], qkv[head + b]);
  //#if NORM_FIRST
  v *= factor * vec2<f32>(head_norm[gain_at + a], head_norm[gain_at + b]);
  //#endif
  v = turn(v, pair, position);
  //#if NORM_LAST
  v *= factor * vec2<f32>(head_norm[gain_at + a], head_norm[gain_at + b]);
  //#endif
  return v;
}

// Pair that element d is in.
fn pair_of(d: u32) -> u32 {
  if (INTERLEAVED || d >= 2u * PAIRS) { return d / 2u; }
  return d % max(PAIRS, 1u);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = step[3] + id.y;
  let position = step[ROWS_AT + row * 4u + 1u];
  if (id.x < QUERY_ITEMS) {
    let head = id.x / (D / 2u);
    let pair = id.x % (D / 2u);
    let source = row * QKV_STRIDE + head * D;
    let v = turned(source, pair, position, head_factor(source), 0u) * query_scale(position);
    let to = row * OUT_STRIDE + head * D;
    out[to + pair_first(pair)] = v.x;
    out[to + pair_second(pair)] = v.y;
    return;
  }
  if (SHARED || id.x >= ITEMS) { return; }
  let item = id.x - QUERY_ITEMS;
  let kv_head = item / (D / 8u);
  let unit = item % (D / 8u);
  let source = row * QKV_STRIDE + (HEADS + kv_head) * D;
  let factor = head_factor(source);
  var words: vec4<u32>;
  for (var i = 0u; i < 4u; i++) {
    let d = unit * 8u + i * 2u;
    let p = pair_of(d);
    let q = pair_of(d + 1u);
    let first = turned(source, p, position, factor, D);
    let second = turned(source, q, position, factor, D);
    let low = select(first.y, first.x, pair_first(p) == d);
    let high = select(second.y, second.x, pair_first(q) == d + 1u);
    words[i] = pack2x16float(vec2<f32>(low, high));
  }
  let block = block_of(step[ROWS_AT + row * 4u + 2u], position);
  k_cache[k_index(block, kv_head, position) + unit * 32u] = words;
  let value = value_factor(source + KV_HEADS * D);
  for (var i = 0u; i < 2u; i++) {
    let at = source + KV_HEADS * D + unit * 8u + i * 4u;
    v_cache[v_index(block, kv_head, position) + unit * 2u + i] =
      narrow(value * vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]));
  }
}
