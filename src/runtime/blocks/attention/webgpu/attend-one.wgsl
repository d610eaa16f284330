// attend-one: attention of one new token per row (decode). Norm and rotation of its query and key, and the write of its key and value
// to the cache, are part of it: the workgroup whose share of the context has the new token in it writes that.
//
// qkv       [rows, QKV_STRIDE] f32: HEADS * D of query, KV_HEADS * D of key, as many of value
// out       SPLIT: [rows, HEADS, splits, D / 4 + 1] vec4: unnormalised sum, then (largest score, mass, -, -)
//           else [rows, OUT_STRIDE] f32 (as vec4): HEADS * D
// step      word 1: tokens of a split; see head.wgsl for the rest and for the caches
//
// workgroup: WG threads, for GROUP query heads that share a key head, one split of the context, one row
// dispatch:  (splits, HEADS / GROUP, rows)
@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read_write> k_cache: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> v_cache: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(4) var<storage, read> rope: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> out: array<vec4<f32>>;
//#if QK_NORM
@group(0) @binding(6) var<storage, read> head_norm: array<f32>;
//#endif
//#if SINKS
//#if !SPLIT
@group(0) @binding(7) var<storage, read> sinks: array<f32>;
//#endif
//#endif

const LOWEST = -3.0e38;
// Threads of the value phase: each has 4 dims; TOKEN_LANES tokens at a time.
const DIM_LANES: u32 = D / 4;
const TOKEN_LANES: u32 = WG / DIM_LANES;

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

// Rotated and scaled query heads.
var<workgroup> query: array<vec4<f32>, GROUP * D / 4>;
// Raw heads; scores and weights [GROUP, WG]; at the end sums [WG, 4].
var<workgroup> scratch: array<f32, SCRATCH>;
var<workgroup> chunk_max: array<f32, GROUP * 8>;
var<workgroup> largest: array<f32, GROUP>;
var<workgroup> fade: array<f32, GROUP>;
var<workgroup> masses: array<f32, TOKEN_LANES>;
var<workgroup> blocks: array<u32, WG / 32>;

@compute @workgroup_size(WG)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
) {
  let row = group.z;
  let first_head = group.y * GROUP;
  let kv_head = first_head / (HEADS / KV_HEADS);
  let position = step[ROWS_AT + row * 4u + 1u];
  let slot = step[ROWS_AT + row * 4u + 2u];
  let source = row * QKV_STRIDE;

  // Share of the context: whole blocks, and nothing before the window.
  var lowest = 0u;
  //#if WINDOW
  if (position + 1u > WINDOW) { lowest = position + 1u - WINDOW; }
  //#endif
  let begin = (lowest / 32u) * 32u + group.x * step[1];
  let end = min(position + 1u, begin + step[1]);
  let has_new = begin <= position && position < begin + step[1];

  // Query heads and the key head, as they come from the projection.
  for (var i = tid; i < (GROUP + 1u) * D; i += WG) {
    let start = select(first_head * D + i, HEADS * D + kv_head * D + i - GROUP * D, i >= GROUP * D);
    scratch[i] = qkv[source + start];
  }
  workgroupBarrier();
  //#if QK_NORM
  if (tid < GROUP + 1u) {
    var squares = 0.0;
    for (var d = 0u; d < D; d++) { squares += scratch[tid * D + d] * scratch[tid * D + d]; }
    chunk_max[tid] = inverseSqrt(squares / f32(D) + EPSILON);
  }
  workgroupBarrier();
  //#endif
  for (var i = tid; i < (GROUP + 1u) * (D / 2u); i += WG) {
    let head = i / (D / 2u);
    let pair = i % (D / 2u);
    let a = pair_first(pair);
    let b = pair_second(pair);
    var v = vec2<f32>(scratch[head * D + a], scratch[head * D + b]);
    //#if QK_NORM
    let gain_at = select(0u, D, head == GROUP);
    let gain = chunk_max[head] * vec2<f32>(head_norm[gain_at + a], head_norm[gain_at + b]);
    //#endif
    //#if NORM_FIRST
    v *= gain;
    //#endif
    v = turn(v, pair, position);
    //#if NORM_LAST
    v *= gain;
    //#endif
    scratch[head * D + a] = v.x;
    scratch[head * D + b] = v.y;
  }
  workgroupBarrier();
  for (var i = tid; i < GROUP * D / 4u; i += WG) {
    query[i] = vec4<f32>(scratch[i * 4u], scratch[i * 4u + 1u], scratch[i * 4u + 2u], scratch[i * 4u + 3u]) * query_scale(position);
  }
  //#if !SHARED
  if (has_new) {
    let block = block_of(slot, position);
    if (tid < D / 8u) {
      let at = GROUP * D + tid * 8u;
      let low = narrow(vec4<f32>(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]));
      let high = narrow(vec4<f32>(scratch[at + 4u], scratch[at + 5u], scratch[at + 6u], scratch[at + 7u]));
      k_cache[k_index(block, kv_head, position) + tid * 32u] = vec4<u32>(low, high);
    }
    if (tid < D / 4u) {
      let at = source + (HEADS + KV_HEADS + kv_head) * D + tid * 4u;
      v_cache[v_index(block, kv_head, position) + tid] = narrow(value_factor(source + (HEADS + KV_HEADS + kv_head) * D) * vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]));
    }
  }
  //#endif
  if (tid < GROUP) { largest[tid] = LOWEST; }
  storageBarrier();
  workgroupBarrier();

  let dim_lane = tid % DIM_LANES;
  let token_lane = tid / DIM_LANES;
  //#unroll g GROUP
  var sum_$g = vec4<f32>(0.0);
  var mass_$g = 0.0;
  //#endunroll

  for (var base = begin; base < end; base += WG) {
    if (tid < WG / 32u && base + tid * 32u < end) { blocks[tid] = block_of(slot, base + tid * 32u); }
    workgroupBarrier();
    // Scores: a token a thread.
    let token = base + tid;
    let valid = (token >= lowest) & (token < end);
    //#unroll g GROUP
    var score_$g = LOWEST;
    //#endunroll
    if (valid) {
      //#unroll g GROUP
      score_$g = 0.0;
      //#endunroll
      let at = k_index(blocks[tid / 32u], kv_head, token);
      for (var u = 0u; u < D / 8u; u++) {
        let packed = k_cache[at + u * 32u];
        let low = widen(packed.xy);
        let high = widen(packed.zw);
        //#unroll g GROUP
        score_$g += dot(low, query[$gu * (D / 4u) + u * 2u]) + dot(high, query[$gu * (D / 4u) + u * 2u + 1u]);
        //#endunroll
      }
    }
    //#unroll g GROUP
    if (valid) { score_$g = capped(score_$g); }
    scratch[$gu * WG + tid] = score_$g;
    //#endunroll
    workgroupBarrier();
    for (var i = tid; i < GROUP * 8u; i += WG) {
      let start = (i / 8u) * WG + (i % 8u) * (WG / 8u);
      var most = LOWEST;
      for (var j = 0u; j < WG / 8u; j++) { most = max(most, scratch[start + j]); }
      chunk_max[i] = most;
    }
    workgroupBarrier();
    if (tid < GROUP) {
      var most = largest[tid];
      let before = most;
      for (var j = 0u; j < 8u; j++) { most = max(most, chunk_max[tid * 8u + j]); }
      fade[tid] = exp(before - most);
      largest[tid] = most;
    }
    workgroupBarrier();
    //#unroll g GROUP
    scratch[$gu * WG + tid] = select(0.0, exp(score_$g - largest[$g]), valid);
    //#endunroll
    workgroupBarrier();
    // Values: 4 dims a thread, tokens shared out among the lanes.
    if (token_lane < TOKEN_LANES) {
      //#unroll g GROUP
      sum_$g *= fade[$g];
      mass_$g *= fade[$g];
      //#endunroll
      let count = min(WG, end - base);
      for (var j = token_lane; j < count; j += TOKEN_LANES) {
        let value = widen(v_cache[v_index(blocks[j / 32u], kv_head, base + j) + dim_lane]);
        //#unroll g GROUP
        let weight_$g = scratch[$gu * WG + j];
        sum_$g += weight_$g * value;
        mass_$g += weight_$g;
        //#endunroll
      }
    }
    workgroupBarrier();
  }

  //#unroll g GROUP
  if (token_lane < TOKEN_LANES) {
    scratch[tid * 4u] = sum_$g.x;
    scratch[tid * 4u + 1u] = sum_$g.y;
    scratch[tid * 4u + 2u] = sum_$g.z;
    scratch[tid * 4u + 3u] = sum_$g.w;
    if (dim_lane == 0u) { masses[token_lane] = mass_$g; }
  }
  workgroupBarrier();
  if (tid < DIM_LANES) {
    var total = vec4<f32>(0.0);
    var mass = 0.0;
    for (var lane = 0u; lane < TOKEN_LANES; lane++) {
      let at = (lane * DIM_LANES + tid) * 4u;
      total += vec4<f32>(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]);
      mass += masses[lane];
    }
    //#if SPLIT
    let to = ((row * HEADS + first_head + $gu) * groups.x + group.x) * (DIM_LANES + 1u);
    out[to + tid] = total;
    if (tid == 0u) { out[to + DIM_LANES] = vec4<f32>(largest[$g], mass, 0.0, 0.0); }
    //#else
    //#if SINKS
    let sink = sinks[first_head + $gu];
    let most = max(largest[$g], sink);
    total *= exp(largest[$g] - most);
    mass = mass * exp(largest[$g] - most) + exp(sink - most);
    //#endif
    out[row * (OUT_STRIDE / 4u) + (first_head + $gu) * DIM_LANES + tid] = total / mass * gate(row, first_head + $gu, tid);
    //#endif
  }
  workgroupBarrier();
  //#endunroll
}
