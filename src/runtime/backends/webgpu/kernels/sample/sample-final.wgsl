// One row: joins the partials, applies top-k, min-p and top-p (definition.ts, steps 7 to 12), writes the token and the record, and
// counts the token that the step appended.
//
// No sort. Every filter keeps the tokens above some value, so the Gumbel winner over all tokens is also the winner over the kept ones
// if it is kept; if not, nothing at or below it is kept, and the search goes on strictly above it. A winner is kept with the probability
// mass of the kept set, so at top-p 0.9 the first or second look nearly always settles it, and a look reads only the blocks whose
// largest z is above the winner's. The k-th largest z (top-k) and the top list of log-probabilities come from the few tokens that
// are at least the k-th largest of the blocks' maxima.
//
// Bindings 0-2: sample-common.wgsl.
//   3 state     [slots, STATE_STRIDE] u32, see sample-partial.wgsl
//   4 tokens    [slots] u32
//   5 adjusted  [rows, VOCAB] f32
//   6 partials  [rows, BLOCKS, PARTIAL_WORDS]
//   7 records   [rows, RECORD_WORDS] u32 or f32: token, status, logprob, number of top entries, (id, logprob) of each
// Workgroup WORKGROUP (at least BLOCKS), dispatch (rows, 1, 1).

@group(0) @binding(3) var<storage, read_write> state: array<u32>;
@group(0) @binding(4) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(5) var<storage, read> adjusted: array<f32>;
@group(0) @binding(6) var<storage, read> partials: array<u32>;
@group(0) @binding(7) var<storage, read_write> records: array<u32>;

const RECORD_WORDS = 44u;
// What the helpers below read; the same for all invocations, as far as the compiler can prove too.
struct Row {
  index: u32,
  slot: u32,
  position: u32,
  seed: u32,
  inverseTemperature: f32,
  logMinP: f32,
  plain: bool,
}

var<workgroup> rowFlags: atomic<u32>;
// 0 outside of gather.
var<workgroup> listLength: atomic<u32>;
var<workgroup> sharedFloat: f32;
var<workgroup> sharedCount: u32;
var<workgroup> sharedFlag: u32;

fn partialFloat(row: Row, block: u32, word: u32) -> f32 {
  return bitcast<f32>(partials[(row.index * BLOCKS + block) * PARTIAL_WORDS + word]);
}

fn rawAt(row: Row, id: u32) -> f32 {
  return finite(logits[row.index * LOGITS_STRIDE + id]);
}

fn zAt(row: Row, id: u32) -> f32 {
  if (row.plain) {
    return rawAt(row, id);
  }
  return adjusted[row.index * VOCAB + id];
}

fn valueAt(row: Row, isRaw: bool, id: u32) -> f32 {
  if (isRaw) {
    return rawAt(row, id);
  }
  return zAt(row, id);
}

fn blockEnd(block: u32) -> u32 {
  return min((block + 1u) * BLOCK, VOCAB);
}

//#if !GREEDY_ONLY
// Gumbel winner (valueOf[0], idOf[0]) and mass (pairOf[0]) of the tokens with z > above that top-k (minZ) and min-p keep.
fn look(t: u32, row: Row, zMax: f32, above: f32, minZ: f32) {
  var mass = 0.0;
  var score = BANNED;
  var scoreId = NO_TOKEN;
  for (var block = 0u; block < BLOCKS; block++) {
    let blockMax = partialFloat(row, block, 2u);
    if (blockMax <= above || blockMax < minZ || (blockMax - zMax) * row.inverseTemperature < row.logMinP) {
      continue;
    }
    let end = blockEnd(block);
    for (var id = block * BLOCK + t; id < end; id += WORKGROUP) {
      let z = zAt(row, id);
      let s = (z - zMax) * row.inverseTemperature;
      if (z <= above || z < minZ || z <= BANNED_LIMIT || s < row.logMinP) {
        continue;
      }
      mass += exp(s);
      if (s > HOPELESS) {
        let own = s + gumbel(noise(row.seed, row.position, id));
        if (own > score) {
          score = own;
          scoreId = id;
        }
      }
    }
  }
  reduce(t, score, scoreId, mass, 0.0, true);
}
//#endif

// A value that at least k tokens reach, as near to the k-th largest as block maxima tell; BANNED if they do not. The same for all
// invocations, which is proven to the compiler at a few places only: two barriers each.
fn lowerBound(t: u32, row: Row, isRaw: bool, k: u32) -> f32 {
  if (k > WORKGROUP) {
    return BANNED;
  }
  var own = BANNED;
  if (k <= BLOCKS) {
    if (t < BLOCKS) {
      own = partialFloat(row, t, select(2u, 4u, isRaw));
    }
  } else {
    // Few blocks: what an invocation visits makes a block of its own.
    for (var id = t; id < VOCAB; id += WORKGROUP) {
      own = max(own, valueAt(row, isRaw, id));
    }
  }
  workgroupBarrier();
  pairOf[t] = own;
  workgroupBarrier();
  var rank = 0u;
  for (var i = 0u; i < WORKGROUP; i++) {
    rank += select(0u, 1u, isBetter(pairOf[i], i, own, t));
  }
  if (rank + 1u == k) {
    sharedFloat = own;
  }
  return workgroupUniformLoad(&sharedFloat);
}

// Lists in valueOf and idOf, in any order, the tokens whose value is above `least`, or equal with an id up to `lastId`; returns how many there are, which may
// be more than fit.
fn gather(t: u32, row: Row, isRaw: bool, least: f32, lastId: u32) -> u32 {
  workgroupBarrier();
  let maxWord = select(2u, 4u, isRaw);
  for (var block = 0u; block < BLOCKS; block++) {
    if (partialFloat(row, block, maxWord) < least) {
      continue;
    }
    let end = blockEnd(block);
    for (var id = block * BLOCK + t; id < end; id += WORKGROUP) {
      let value = valueAt(row, isRaw, id);
      if (value > BANNED_LIMIT && (value > least || (value == least && id <= lastId))) {
        let at = atomicAdd(&listLength, 1u);
        if (at < LIST_CAPACITY) {
          valueOf[at] = value;
          idOf[at] = id;
        }
      }
    }
  }
  workgroupBarrier();
  if (t == 0u) {
    sharedCount = atomicLoad(&listLength);
    atomicStore(&listLength, 0u);
  }
  return workgroupUniformLoad(&sharedCount);
}

// How many entries are better than the one at `at`.
fn rankInList(at: u32, length: u32) -> u32 {
  var rank = 0u;
  for (var i = 0u; i < length; i++) {
    rank += select(0u, 1u, isBetter(valueOf[i], idOf[i], valueOf[at], idOf[at]));
  }
  return rank;
}

fn keyOf(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

fn valueOfKey(key: u32) -> f32 {
  return bitcast<f32>(select(~key, key & 0x7fffffffu, (key & 0x80000000u) != 0u));
}

struct Selection {
  // The k largest are in the list, which has this length.
  fits: bool,
  length: u32,
  // If not: the k-th largest value, or BANNED if fewer than k tokens are not banned.
  bound: f32,
}

// Lists at least k tokens with the largest values, or all that are not banned if they are fewer. The first bound nearly always does. If
// more than fit reach it (a very large k, or a great many values alike), bisection finds a better one: over the floats in order,
// and then, if a single value has too many tokens, over their ids.
fn selectLargest(t: u32, row: Row, isRaw: bool, k: u32) -> Selection {
  var low = keyOf(lowerBound(t, row, isRaw, k));
  var high = keyOf(-BANNED);
  var lowId = 0u;
  var highId = VOCAB - 1u;
  var least = low;
  var lastId = highId;
  var isFirst = true;
  loop {
    let length = gather(t, row, isRaw, valueOfKey(least), lastId);
    if (isFirst && length < k) {
      return Selection(isRaw, length, BANNED); // a top list of what there is; no threshold
    }
    isFirst = false;
    if (length >= k && length <= LIST_CAPACITY) {
      return Selection(true, length, BANNED);
    }
    // Here k tokens reach low, and fewer than k are above high; likewise for ids once low is high.
    if (low < high) {
      if (length >= k) {
        low = least;
      } else {
        high = least - 1u;
      }
    } else if (length >= k) {
      highId = lastId;
    } else {
      lowId = lastId + 1u;
    }
    if (low < high) {
      least = high - (high - low) / 2u;
    } else if (isRaw) {
      least = low;
      lastId = lowId + (highId - lowId) / 2u;
    } else {
      break; // top-k keeps all that are tied with the k-th
    }
  }
  return Selection(false, 0u, valueOfKey(low));
}

// The n most likely tokens of the list, best first, into the record.
fn writeTop(t: u32, row: Row, length: u32, n: u32, logSum: f32) {
  let base = row.index * RECORD_WORDS;
  if (t == 0u) {
    records[base + 3u] = min(n, length);
  }
  for (var at = t; at < length; at += WORKGROUP) {
    let rank = rankInList(at, length);
    if (rank < n) {
      records[base + 4u + 2u * rank] = idOf[at];
      records[base + 5u + 2u * rank] = bitcast<u32>(valueOf[at] - logSum);
    }
  }
}

//#if !GREEDY_ONLY
// The token that the filters keep with the best score, given the winner over all tokens and their mass.
fn choose(t: u32, row: Row, zMax: f32, unfiltered: u32, mass: f32, minZ: f32) -> u32 {
  let topP = paramFloat(row.slot, 1u);
  var winner = unfiltered;
  var keptMass = mass;
  // The winner is one that top-k and min-p keep, and the mass is that of all that they keep.
  var isSettled = minZ <= BANNED_LIMIT && row.logMinP <= BANNED_LIMIT;
  var isDone = topP >= 1.0;
  if (isDone && !isSettled) {
    let z = zAt(row, winner);
    isDone = z >= minZ && (z - zMax) * row.inverseTemperature >= row.logMinP;
  }
  loop {
    if (t == 0u) {
      sharedFlag = select(0u, 1u, isDone);
    }
    if (workgroupUniformLoad(&sharedFlag) != 0u) {
      break;
    }
    var above = BANNED;
    if (isSettled) {
      above = zAt(row, winner);
    }
    look(t, row, zMax, above, minZ);
    let found = pairOf[0];
    if (isSettled && (found < topP * keptMass || idOf[0] == NO_TOKEN)) {
      isDone = true;
    } else {
      winner = idOf[0];
      if (!isSettled) {
        isSettled = true;
        keptMass = found;
        isDone = topP >= 1.0;
      }
    }
  }
  return winner;
}
//#endif

// The tokens that this step appended go into history and counts; sample-partial has taken them into account already. The last row of a
// slot does so for all of them, since the rows run at the same time.
fn countAppended(row: u32, step: vec4<u32>) {
  if ((paramWord(step.x, 11u) & FLAG_PENALISED) == 0u || (step.z & (STEP_APPEND_PREVIOUS | STEP_APPEND_TOKEN)) == 0u || (step.z & STEP_FOLLOWED) != 0u) {
    return;
  }
  var token = step.w;
  if ((step.z & STEP_APPEND_PREVIOUS) != 0u) {
    token = tokens[step.x];
  }
  let base = step.x * STATE_STRIDE;
  state[base + token] += 1u;
  state[base + HISTORY_OFFSET + step.y - 1u] = token;
  for (var i = 1u; i <= step.z >> DEPTH_SHIFT; i++) {
    token = steps[row - i].w;
    state[base + token] += 1u;
    state[base + HISTORY_OFFSET + step.y - 1u - i] = token;
  }
}

fn setLatest(step: vec4<u32>, token: u32) {
  if ((step.z & STEP_FOLLOWED) == 0u) {
    tokens[step.x] = token;
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let step = steps[group.x];
  if (t == 0u) {
    countAppended(group.x, step);
  }
  if ((step.z & STEP_SAMPLE) == 0u) {
    return;
  }
  var row: Row;
  row.index = group.x;
  row.slot = step.x;
  row.position = step.y;
  row.seed = paramWord(step.x, 8u);
  row.inverseTemperature = paramFloat(step.x, 0u);
  row.logMinP = paramFloat(step.x, 2u);
  row.plain = isPlain(step.x, step.z);
  let isSampled = !GREEDY_ONLY && (paramWord(step.x, 11u) & FLAG_SAMPLED) != 0u;
  let topLogprobs = paramWord(step.x, 9u);

  var own = BANNED;
  var ownId = NO_TOKEN;
  var ownRawMax = BANNED;
  if (t < BLOCKS) {
    own = partialFloat(row, t, 2u);
    ownRawMax = partialFloat(row, t, 4u);
    if (own > BANNED_LIMIT) {
      ownId = partials[(row.index * BLOCKS + t) * PARTIAL_WORDS + 1u];
    }
    let flags = partials[(row.index * BLOCKS + t) * PARTIAL_WORDS + 6u];
    if (flags != 0u) {
      atomicOr(&rowFlags, flags);
    }
  }
  reduce(t, own, ownId, ownRawMax, 0.0, false);
  let zMax = valueOf[0];
  let rawMax = pairOf[0];
  var token = idOf[0];
  if (t == 0u) {
    let flags = atomicLoad(&rowFlags);
    var status = flags & STATUS_NOT_FINITE;
    status |= select(STATUS_FLAT, 0u, (flags & NOT_FLAT) != 0u || VOCAB == 1u);
    status |= select(0u, STATUS_ALL_BANNED, token == NO_TOKEN);
    sharedFlag = status;
  }
  let status = workgroupUniformLoad(&sharedFlag);
  let base = row.index * RECORD_WORDS;
  if (status != 0u) {
    // Token 0, so that steps already in flight stay within the vocabulary.
    if (t == 0u) {
      setLatest(step, 0u);
      records[base] = 0u;
      records[base + 1u] = status;
    }
    return;
  }

  var mass = 0.0;
  var logSum = 0.0;
  if (isSampled || topLogprobs > 0u) {
    var score = own;
    var rawSum = 0.0;
    if (ownId != NO_TOKEN && isSampled) {
      let s = (own - zMax) * row.inverseTemperature;
      score = s + partialFloat(row, t, 0u);
      mass = partialFloat(row, t, 3u) * exp(s);
    }
    if (t < BLOCKS) {
      rawSum = partialFloat(row, t, 5u) * exp(ownRawMax - rawMax);
    }
    reduce(t, score, ownId, mass, rawSum, true);
    token = idOf[0];
    mass = pairOf[0];
    logSum = rawMax + ln(pairOf[HALF]);
  }

  // The k-th largest z for top-k, then the top list of raw logits.
  var minZ = BANNED;
  for (var turn = 0u; turn < 2u; turn++) {
    let isRaw = turn == 1u;
    var count = topLogprobs;
    if (!isRaw) {
      count = 0u;
      if (isSampled) {
        count = paramWord(row.slot, 3u);
      }
    }
    if (count == 0u) {
      continue;
    }
    let selection = selectLargest(t, row, isRaw, count);
    if (isRaw) {
      writeTop(t, row, selection.length, count, logSum);
    } else if (selection.fits) {
      for (var at = t; at < selection.length; at += WORKGROUP) {
        if (rankInList(at, selection.length) + 1u == count) {
          sharedFloat = valueOf[at];
        }
      }
      workgroupBarrier();
      minZ = sharedFloat;
    } else {
      minZ = selection.bound;
    }
  }
//#if !GREEDY_ONLY
  if (isSampled) {
    token = choose(t, row, zMax, token, mass, minZ);
  }
//#endif
  if (t == 0u) {
    setLatest(step, token);
    records[base] = token;
    records[base + 1u] = 0u;
    if (topLogprobs > 0u) {
      records[base + 2u] = bitcast<u32>(rawAt(row, token) - logSum);
    } else {
      records[base + 3u] = 0u;
    }
  }
}
