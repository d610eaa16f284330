// attend-many: causal attention of a prefill chunk whose queries are rotated and whose keys and values are in the cache already.
//
// out   [rows, OUT_STRIDE] f32 (as vec4), HEADS * D of each row: the queries, and in their place the result
// step  words TILES_AT + 2 i: first row and number of rows of tile i, rows of one sequence that follow each other; caches: head.wgsl
//
// workgroup: WG threads, for one head and a tile of up to QUERIES rows; keys in blocks of 32
// dispatch:  (HEADS, tiles)
//#if GATED
@group(0) @binding(0) var<storage, read> qkv: array<f32>;
//#endif
@group(0) @binding(1) var<storage, read> k_cache: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> v_cache: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(5) var<storage, read_write> out: array<vec4<f32>>;
//#if SINKS
@group(0) @binding(7) var<storage, read> sinks: array<f32>;
//#endif

const LOWEST = -3.0e38;
const DIM_LANES: u32 = D / 4;

var<workgroup> query: array<vec4<f32>, QUERIES * D / 4>;
// [QUERIES, 32]: scores, then weights
var<workgroup> weights: array<f32, QUERIES * 32>;
var<workgroup> partial: array<f32, QUERIES * 8>;
var<workgroup> largest: array<f32, QUERIES>;
var<workgroup> fade: array<f32, QUERIES>;
var<workgroup> mass: array<f32, QUERIES>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let head = group.x;
  let kv_head = head / (HEADS / KV_HEADS);
  let first = step[TILES_AT + group.y * 2u];
  let count = step[TILES_AT + group.y * 2u + 1u];
  let position = step[ROWS_AT + first * 4u + 1u];
  let slot = step[ROWS_AT + first * 4u + 2u];
  for (var i = tid; i < QUERIES * DIM_LANES; i += WG) {
    let q = min(i / DIM_LANES, count - 1u);
    query[i] = out[(first + q) * (OUT_STRIDE / 4u) + head * DIM_LANES + i % DIM_LANES];
  }
  if (tid < QUERIES) {
    largest[tid] = LOWEST;
    mass[tid] = 0.0;
  }

  // Scores: a key and SCORE_ROWS queries a thread. Values: 4 dims and VALUE_ROWS queries a thread.
  let key_lane = tid % 32u;
  let query_lane = tid / 32u;
  let dim_lane = tid % DIM_LANES;
  let row_lane = tid / DIM_LANES;
  //#unroll i VALUE_ROWS
  let row_$i = row_lane + $iu * ROW_LANES;
  let has_$i = (row_lane < ROW_LANES) & (row_$i < QUERIES);
  let at_$i = min(row_$i, QUERIES - 1u);
  var sum_$i = vec4<f32>(0.0);
  //#endunroll
  var lowest = 0u;
  //#if WINDOW
  if (position + 1u > WINDOW) { lowest = (position + 1u - WINDOW) / 32u; }
  //#endif
  workgroupBarrier();

  for (var b = lowest; b <= (position + count - 1u) / 32u; b++) {
    let block = block_of(slot, b * 32u);
    let key = b * 32u + key_lane;
    //#unroll i SCORE_ROWS
    var score_$i = 0.0;
    //#endunroll
    let k_at = k_index(block, kv_head, key_lane);
    for (var u = 0u; u < D / 8u; u++) {
      let packed = k_cache[k_at + u * 32u];
      let low = widen(packed.xy);
      let high = widen(packed.zw);
      //#unroll i SCORE_ROWS
      let q_$i = (query_lane * SCORE_ROWS + $iu) * DIM_LANES + u * 2u;
      score_$i += dot(low, query[q_$i]) + dot(high, query[q_$i + 1u]);
      //#endunroll
    }
    //#unroll i SCORE_ROWS
    {
      let q = query_lane * SCORE_ROWS + $iu;
      // `&` instead of `&&`: no branches, of which SwiftShader's compiler does not find its way out when there are dozens.
      var seen = (q < count) & (key <= position + q);
      //#if WINDOW
      seen &= position + q - key < WINDOW;
      //#endif
      weights[q * 32u + key_lane] = select(LOWEST, capped(score_$i), seen);
    }
    //#endunroll
    workgroupBarrier();
    // Softmax: 8 shares of 4 keys a query.
    for (var i = tid; i < QUERIES * 8u; i += WG) {
      let at = i * 4u;
      partial[i] = max(max(weights[at], weights[at + 1u]), max(weights[at + 2u], weights[at + 3u]));
    }
    workgroupBarrier();
    if (tid < QUERIES) {
      let before = largest[tid];
      var most = before;
      for (var j = 0u; j < 8u; j++) { most = max(most, partial[tid * 8u + j]); }
      largest[tid] = most;
      fade[tid] = exp(before - most);
    }
    workgroupBarrier();
    for (var i = tid; i < QUERIES * 8u; i += WG) {
      let most = largest[i / 8u];
      var sum = 0.0;
      for (var j = 0u; j < 4u; j++) {
        let score = weights[i * 4u + j];
        let weight = select(0.0, exp(score - most), score > LOWEST);
        weights[i * 4u + j] = weight;
        sum += weight;
      }
      partial[i] = sum;
    }
    workgroupBarrier();
    if (tid < QUERIES) {
      var sum = mass[tid] * fade[tid];
      for (var j = 0u; j < 8u; j++) { sum += partial[tid * 8u + j]; }
      mass[tid] = sum;
    }
    //#unroll i VALUE_ROWS
    sum_$i *= fade[at_$i];
    //#endunroll
    let v_at = v_index(block, kv_head, 0u) + dim_lane;
    for (var j = 0u; j < 32u; j++) {
      // Keys past the last position have a weight of 0, and what lies there is finite (zeros, or a former sequence's values).
      let value = widen(v_cache[v_at + j * DIM_LANES]);
      //#unroll i VALUE_ROWS
      sum_$i += weights[at_$i * 32u + j] * value;
      //#endunroll
    }
    workgroupBarrier();
  }

  //#unroll i VALUE_ROWS
  if (has_$i & (row_$i < count)) {
    var mass_$i = mass[row_$i];
    //#if SINKS
    let sink_$i = sinks[head];
    let most_$i = max(largest[row_$i], sink_$i);
    sum_$i *= exp(largest[row_$i] - most_$i);
    mass_$i = mass_$i * exp(largest[row_$i] - most_$i) + exp(sink_$i - most_$i);
    //#endif
    out[(first + row_$i) * (OUT_STRIDE / 4u) + head * DIM_LANES + dim_lane] = sum_$i / mass_$i * gate(first + row_$i, head, dim_lane);
  }
  //#endunroll
}
