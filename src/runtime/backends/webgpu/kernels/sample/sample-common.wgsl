// Put before sample-partial.wgsl and sample-final.wgsl: sizes, the buffers that both read, and the arithmetic of
// sampling/definition.ts.

// Composed constants:
//   WORKGROUP                   invocations of a workgroup; a power of two
//   LIST                        entries of valueOf and idOf, at least
//   VOCAB
//   BLOCK, BLOCKS               tokens that one workgroup of sample-partial takes, and how many such blocks there are (at most 256)
//   LOGITS_STRIDE               words from one row of logits to the next
//   BIAS_CAPACITY
//   STATE_STRIDE                words of a slot's state: VOCAB counts, ceil(VOCAB / 32) mask words, the tokens appended so far
//   MASK_OFFSET, HISTORY_OFFSET
//   GREEDY_ONLY                 every row of the step is greedy, so that what only sampled rows need is compiled away

// [rows, LOGITS_STRIDE] f32, read as bits: NaN and infinities are told apart by bits, since fast math may assume there are none.
@group(0) @binding(0) var<storage, read> logits: array<u32>;
// [slots, PARAM_WORDS + 2 * BIAS_CAPACITY] u32 or f32: parameters, bias ids (ascending), bias values.
@group(0) @binding(1) var<storage, read> slotParams: array<u32>;
// [rows] (slot, position, flags, token)
@group(0) @binding(2) var<storage, read> steps: array<vec4<u32>>;

const HALF = u32(WORKGROUP / 2);
const LIST_CAPACITY = max(HALF, u32(LIST));
const PARAM_WORDS = 16u;
const PARTIAL_WORDS = 8u;

const STEP_SAMPLE = 1u;
const STEP_APPEND_PREVIOUS = 2u;
const STEP_APPEND_TOKEN = 4u;
const STEP_MASKED = 8u;
// More rows of the same slot follow, each with one token more.
const STEP_FOLLOWED = 16u;
// Rows of the same slot before this one, whose tokens (STEP_APPEND_TOKEN) come before its own.
const DEPTH_SHIFT = 8u;

const FLAG_SAMPLED = 1u;
const FLAG_PENALISED = 2u;

const STATUS_NOT_FINITE = 1u;
const STATUS_FLAT = 2u;
const STATUS_ALL_BANNED = 4u;
// In a partial only: some logit differs from the row's first.
const NOT_FLAT = 8u;

const BANNED = -3.0e38;
const BANNED_LIMIT = -1.0e38;
const NO_TOKEN = 0xffffffffu;
// Noise is within (-3.14, 22.88), so a token this far below the largest s cannot win.
const HOPELESS = -26.1;

fn paramWord(slot: u32, index: u32) -> u32 {
  return slotParams[slot * (PARAM_WORDS + 2u * BIAS_CAPACITY) + index];
}

fn paramFloat(slot: u32, index: u32) -> f32 {
  return bitcast<f32>(paramWord(slot, index));
}

// Nothing changes the logits of this row, so z is the raw logit.
fn isPlain(slot: u32, stepFlags: u32) -> bool {
  return paramWord(slot, 10u) == 0u && (paramWord(slot, 11u) & FLAG_PENALISED) == 0u && (stepFlags & STEP_MASKED) == 0u;
}

fn isFaulty(bits: u32) -> bool {
  return (bits & 0x7f800000u) == 0x7f800000u && bits != 0xff800000u;
}

// The logit, or BANNED for -Infinity (and for what is faulty).
fn finite(bits: u32) -> f32 {
  if ((bits & 0x7f800000u) == 0x7f800000u) {
    return BANNED;
  }
  let value = bitcast<f32>(bits);
  return select(value, BANNED, value <= BANNED_LIMIT);
}

// pcg3d, the same words as gumbel.ts.
fn noise(seed: u32, position: u32, token: u32) -> u32 {
  var v = vec3<u32>(token, position, seed) * 1664525u + 1013904223u;
  v.x += v.y * v.z;
  v.y += v.z * v.x;
  v.z += v.x * v.y;
  v ^= v >> vec3<u32>(16u);
  v.x += v.y * v.z;
  v.y += v.z * v.x;
  v.z += v.x * v.y;
  return v.z;
}

// Natural logarithm of a positive normal f32 to about 1 ulp (Cephes logf). The built-in may be off by 2^-21 near 1, and differs
// between GPUs; the choice of a token should not.
fn ln(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  var exponent = f32(i32(bits >> 23u) - 126);
  var m = bitcast<f32>((bits & 0x007fffffu) | 0x3f000000u);
  if (m < 0.70710678) {
    exponent -= 1.0;
    m += m;
  }
  m -= 1.0;
  let m2 = m * m;
  var p = 7.0376836292e-2;
  p = p * m - 1.1514610310e-1;
  p = p * m + 1.1676998740e-1;
  p = p * m - 1.2420140846e-1;
  p = p * m + 1.4249322787e-1;
  p = p * m - 1.6668057665e-1;
  p = p * m + 2.0000714765e-1;
  p = p * m - 2.4999993993e-1;
  p = p * m + 3.3333331174e-1;
  let tail = m * m2 * p - 2.12194440e-4 * exponent - 0.5 * m2;
  return m + tail + 0.693359375 * exponent;
}

// -log(-log1p(-w)), w = (bits + 0.5) / 2^32. Below 2^-5 by a series, since 1 - w would drop the bits that tell winners apart; above
// it from 1 - w = (~bits + 0.5) / 2^32, which cannot round to 0.
fn gumbel(bits: u32) -> f32 {
  const SCALE = 2.3283064365386963e-10;
  var e: f32;
  if (bits < 0x08000000u) {
    let w = (f32(bits) + 0.5) * SCALE;
    e = w * (1.0 + w * (0.5 + w * (0.33333333 + w * (0.25 + w * 0.2))));
  } else {
    e = -ln((f32(~bits) + 0.5) * SCALE);
  }
  return -ln(e);
}

// Higher value first, then lower id.
fn isBetter(value: f32, id: u32, otherValue: f32, otherId: u32) -> bool {
  return value > otherValue || (value == otherValue && id < otherId);
}

// Small on purpose: SwiftShader compiles a store of zero for each word of workgroup memory, so that 4 KiB of it took longer to compile
// than the rest of a kernel.
var<workgroup> valueOf: array<f32, LIST_CAPACITY>;
var<workgroup> idOf: array<u32, LIST_CAPACITY>;
// Of entry i: i and i + HALF.
var<workgroup> pairOf: array<f32, WORKGROUP>;

fn merge(t: u32, value: f32, id: u32, first: f32, second: f32, isSum: bool) {
  if (isBetter(value, id, valueOf[t], idOf[t])) {
    valueOf[t] = value;
    idOf[t] = id;
  }
  pairOf[t] = select(max(pairOf[t], first), pairOf[t] + first, isSum);
  pairOf[t + HALF] = select(max(pairOf[t + HALF], second), pairOf[t + HALF] + second, isSum);
}

// Over all invocations, in a fixed order: the best (value, id), left in valueOf[0] and idOf[0], and the maxima or sums of a pair, left in
// pairOf[0] and pairOf[HALF]. One function for all, called at few places, since each call is compiled anew.
fn reduce(t: u32, value: f32, id: u32, first: f32, second: f32, isSum: bool) {
  workgroupBarrier();
  if (t >= HALF) {
    valueOf[t - HALF] = value;
    idOf[t - HALF] = id;
    pairOf[t - HALF] = first;
    pairOf[t] = second;
  }
  workgroupBarrier();
  if (t < HALF) {
    merge(t, value, id, first, second, isSum);
  }
  for (var half = HALF / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (t < half) {
      let other = t + half;
      merge(t, valueOf[other], idOf[other], pairOf[other], pairOf[other + HALF], isSum);
    }
  }
  workgroupBarrier();
}
