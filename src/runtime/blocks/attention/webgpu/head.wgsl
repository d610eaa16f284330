// A query or key head as attention needs it: RMSNorm (QK_NORM), then rotary positions (with NORM_LAST the other way round). Shared by rotate.wgsl and attend-one.wgsl.
//
// head_norm  [2, D] f32: gain of query heads, of key heads (QK_NORM)
// rope       [context, PAIRS] vec2 (cosine, sine)
// step       words ROWS_AT + 4 m: token, position, slot, 0; TABLES_AT + slot * MAX_BLOCKS: KV blocks of the sequence
// k_cache    [blocks, KV_HEADS, D / 8, 32] vec4 of 8 f16: dims of one token side by side, tokens of a block next to each other
// v_cache    [blocks, KV_HEADS, 32, D / 4] vec2 of 4 f16

// Elements of pair i: with INTERLEAVED 2i and 2i + 1, else i and i + PAIRS. Pairs beyond PAIRS are not rotated.
fn pair_first(i: u32) -> u32 {
  if (i >= PAIRS) { return 2u * i; }
  return select(i, 2u * i, INTERLEAVED);
}
fn pair_second(i: u32) -> u32 {
  if (i >= PAIRS) { return 2u * i + 1u; }
  return select(i + PAIRS, 2u * i + 1u, INTERLEAVED);
}

// What a score becomes before the softmax.
fn capped(score: f32) -> f32 {
//#if SOFTCAP
  return SOFTCAP * tanh(clamp(score / SOFTCAP, -15.0, 15.0));
//#else
  return score;
//#endif
}

// What a query at that position is multiplied with.
fn query_scale(position: u32) -> f32 {
//#if GROWTH
  return SCALE * (1.0 + GROWTH * log(floor((f32(position) + 0.5) / GROWTH_EVERY) + 1.0));
//#else
  return SCALE;
//#endif
}

fn turn(pair: vec2<f32>, i: u32, position: u32) -> vec2<f32> {
  if (i >= PAIRS) { return pair; }
  let angle = rope[position * PAIRS + i];
  return vec2<f32>(pair.x * angle.x - pair.y * angle.y, pair.x * angle.y + pair.y * angle.x);
}

fn block_of(slot: u32, position: u32) -> u32 {
  return step[TABLES_AT + slot * MAX_BLOCKS + position / 32u];
}

fn k_index(block: u32, kv_head: u32, position: u32) -> u32 {
  return (block * KV_HEADS + kv_head) * (D / 8u) * 32u + position % 32u;
}

fn v_index(block: u32, kv_head: u32, position: u32) -> u32 {
  return ((block * KV_HEADS + kv_head) * 32u + position % 32u) * (D / 4u);
}

fn widen(word: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(word.x), unpack2x16float(word.y));
}

fn narrow(v: vec4<f32>) -> vec2<u32> {
  return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
}
