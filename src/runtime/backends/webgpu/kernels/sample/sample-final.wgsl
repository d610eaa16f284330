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
// Workgroup 256, dispatch (rows, 1, 1).

@group(0) @binding(3) var<storage, read_write> state: array<u32>;
@group(0) @binding(4) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(5) var<storage, read> adjusted: array<f32>;
@group(0) @binding(6) var<storage, read> partials: array<u32>;
@group(0) @binding(7) var<storage, read_write> records: array<u32>;

const RECORD_WORDS = 44u;
const LIST_CAPACITY = 1024u;

// What the helpers below read; the same for all invocations.
struct Row {
  index: u32,
  slot: u32,
  position: u32,
  seed: u32,
  inverseTemperature: f32,
  logMinP: f32,
  zMax: f32,
  plain: bool,
}

var<workgroup> rowFlags: atomic<u32>;
var<workgroup> listLength: atomic<u32>;
var<workgroup> listValue: array<f32, LIST_CAPACITY>;
var<workgroup> listId: array<u32, LIST_CAPACITY>;
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

// Mass (returned) and Gumbel winner (valueOf[0], idOf[0]) of the tokens with z > above that top-k (minZ) and min-p keep.
fn look(t: u32, row: Row, above: f32, minZ: f32) -> f32 {
  var mass = 0.0;
  var score = BANNED;
  var scoreId = NO_TOKEN;
  for (var block = 0u; block < BLOCKS; block++) {
    let blockMax = partialFloat(row, block, 2u);
    if (blockMax <= above || blockMax < minZ || (blockMax - row.zMax) * row.inverseTemperature < row.logMinP) {
      continue;
    }
    let end = blockEnd(block);
    for (var id = block * BLOCK + t; id < end; id += WORKGROUP) {
      let z = zAt(row, id);
      let s = (z - row.zMax) * row.inverseTemperature;
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
  reduceBest(t, score, scoreId);
  return reduceSum(t, mass);
}

// How many values are at least `least`; the same for all invocations.
fn countFrom(t: u32, row: Row, isRaw: bool, least: f32) -> u32 {
  var count = 0u;
  let maxWord = select(2u, 4u, isRaw);
  for (var block = 0u; block < BLOCKS; block++) {
    if (partialFloat(row, block, maxWord) < least) {
      continue;
    }
    let end = blockEnd(block);
    for (var id = block * BLOCK + t; id < end; id += WORKGROUP) {
      count += select(0u, 1u, valueAt(row, isRaw, id) >= least);
    }
  }
  workgroupBarrier();
  if (t == 0u) {
    atomicStore(&listLength, 0u);
  }
  workgroupBarrier();
  if (count > 0u) {
    atomicAdd(&listLength, count);
  }
  workgroupBarrier();
  if (t == 0u) {
    sharedCount = atomicLoad(&listLength);
  }
  return workgroupUniformLoad(&sharedCount);
}

// A value that at least k tokens reach, as near to the k-th largest as block maxima tell; BANNED if they do not.
fn lowerBound(t: u32, row: Row, isRaw: bool, k: u32) -> f32 {
  var own = BANNED;
  if (k <= BLOCKS) {
    if (t < BLOCKS) {
      own = partialFloat(row, t, select(2u, 4u, isRaw));
    }
  } else {
    // Few blocks: every 256th token makes a block of its own.
    for (var id = t; id < VOCAB; id += WORKGROUP) {
      own = max(own, valueAt(row, isRaw, id));
    }
  }
  workgroupBarrier();
  valueOf[t] = own;
  if (t == 0u) {
    sharedFloat = BANNED;
  }
  workgroupBarrier();
  var rank = 0u;
  for (var i = 0u; i < WORKGROUP; i++) {
    rank += select(0u, 1u, isBetter(valueOf[i], i, own, t));
  }
  if (rank + 1u == k) {
    sharedFloat = own;
  }
  return workgroupUniformLoad(&sharedFloat);
}

// Puts all tokens of at least `least` in the list, in any order; returns how many there are, which may be more than fit.
fn gather(t: u32, row: Row, isRaw: bool, least: f32) -> u32 {
  workgroupBarrier();
  if (t == 0u) {
    atomicStore(&listLength, 0u);
  }
  workgroupBarrier();
  let maxWord = select(2u, 4u, isRaw);
  for (var block = 0u; block < BLOCKS; block++) {
    if (partialFloat(row, block, maxWord) < least) {
      continue;
    }
    let end = blockEnd(block);
    for (var id = block * BLOCK + t; id < end; id += WORKGROUP) {
      let value = valueAt(row, isRaw, id);
      if (value >= least && value > BANNED_LIMIT) {
        let at = atomicAdd(&listLength, 1u);
        if (at < LIST_CAPACITY) {
          listValue[at] = value;
          listId[at] = id;
        }
      }
    }
  }
  workgroupBarrier();
  if (t == 0u) {
    sharedCount = atomicLoad(&listLength);
  }
  return workgroupUniformLoad(&sharedCount);
}

fn rankInList(at: u32, length: u32) -> u32 {
  var rank = 0u;
  for (var i = 0u; i < length; i++) {
    rank += select(0u, 1u, isBetter(listValue[i], listId[i], listValue[at], listId[at]));
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

// The k-th largest z, or BANNED if fewer than k tokens are not banned.
fn kthLargest(t: u32, row: Row, k: u32) -> f32 {
  let bound = lowerBound(t, row, false, k);
  let length = gather(t, row, false, bound);
  if (length < k) {
    return BANNED;
  }
  if (length <= LIST_CAPACITY) {
    for (var at = t; at < length; at += WORKGROUP) {
      if (rankInList(at, length) + 1u == k) {
        sharedFloat = listValue[at];
      }
    }
    return workgroupUniformLoad(&sharedFloat);
  }
  // Rare (a very large k, or a great many equal values): bisection between the bound and the maximum, over the floats in order.
  var low = keyOf(bound);
  var high = keyOf(row.zMax);
  while (low < high) {
    let middle = high - (high - low) / 2u;
    let count = countFrom(t, row, false, valueOfKey(middle));
    if (count >= k) {
      low = middle;
      if (count == k) {
        break;
      }
    } else {
      high = middle - 1u;
    }
  }
  return valueOfKey(low);
}

// The token kept by the filters with the best score, given the winner over all tokens.
fn choose(t: u32, row: Row, unfiltered: u32, mass: f32) -> u32 {
  let topK = paramWord(row.slot, 3u);
  let topP = paramFloat(row.slot, 1u);
  var minZ = BANNED;
  if (topK > 0u) {
    minZ = kthLargest(t, row, topK);
  }
  var winner = unfiltered;
  var keptMass = mass;
  if (minZ > BANNED_LIMIT || row.logMinP > BANNED_LIMIT) {
    if (t == 0u) {
      let z = zAt(row, winner);
      sharedFlag = select(0u, 1u, z < minZ || (z - row.zMax) * row.inverseTemperature < row.logMinP);
    }
    let isDropped = workgroupUniformLoad(&sharedFlag) != 0u;
    if (isDropped || topP < 1.0) {
      keptMass = look(t, row, BANNED, minZ);
      winner = workgroupUniformLoad(&idOf[0]);
    }
  }
  if (topP < 1.0) {
    loop {
      if (t == 0u) {
        sharedFloat = zAt(row, winner);
      }
      let massAbove = look(t, row, workgroupUniformLoad(&sharedFloat), minZ);
      if (t == 0u) {
        sharedFlag = select(0u, 1u, massAbove < topP * keptMass || idOf[0] == NO_TOKEN);
      }
      if (workgroupUniformLoad(&sharedFlag) != 0u) {
        break;
      }
      winner = workgroupUniformLoad(&idOf[0]);
    }
  }
  return winner;
}

// The n most likely tokens by raw logit, best first, into the record.
fn writeTop(t: u32, row: Row, n: u32, logSum: f32) {
  let base = row.index * RECORD_WORDS;
  let bound = lowerBound(t, row, true, n);
  let length = gather(t, row, true, bound);
  if (t == 0u) {
    records[base + 3u] = min(n, length);
  }
  if (length <= LIST_CAPACITY) {
    for (var at = t; at < length; at += WORKGROUP) {
      let rank = rankInList(at, length);
      if (rank < n) {
        records[base + 4u + 2u * rank] = listId[at];
        records[base + 5u + 2u * rank] = bitcast<u32>(listValue[at] - logSum);
      }
    }
    return;
  }
  // Rare (a great many equal values): one look for each entry.
  var lastValue = -BANNED;
  var lastId = 0u;
  for (var rank = 0u; rank < n; rank++) {
    var own = BANNED;
    var ownId = NO_TOKEN;
    for (var id = t; id < VOCAB; id += WORKGROUP) {
      let value = rawAt(row, id);
      if (value > own && isBetter(lastValue, lastId, value, id)) {
        own = value;
        ownId = id;
      }
    }
    reduceBest(t, own, ownId);
    lastValue = valueOf[0];
    lastId = idOf[0];
    if (t == 0u) {
      records[base + 4u + 2u * rank] = lastId;
      records[base + 5u + 2u * rank] = bitcast<u32>(lastValue - logSum);
    }
  }
}

// The token that this step appended goes into history and counts; sample-partial has taken it into account already.
fn countAppended(step: vec4<u32>) {
  if ((paramWord(step.x, 11u) & FLAG_PENALISED) == 0u || (step.z & (STEP_APPEND_PREVIOUS | STEP_APPEND_TOKEN)) == 0u) {
    return;
  }
  var token = step.w;
  if ((step.z & STEP_APPEND_PREVIOUS) != 0u) {
    token = tokens[step.x];
  }
  let base = step.x * STATE_STRIDE;
  state[base + token] += 1u;
  state[base + HISTORY_OFFSET + step.y - 1u] = token;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let step = steps[group.x];
  if (t == 0u) {
    countAppended(step);
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

  let isBlock = t < BLOCKS;
  var own = BANNED;
  if (isBlock) {
    own = partialFloat(row, t, 2u);
    let flags = partials[(row.index * BLOCKS + t) * PARTIAL_WORDS + 6u];
    if (flags != 0u) {
      atomicOr(&rowFlags, flags);
    }
  }
  row.zMax = reduceMax(t, own);
  var score = BANNED;
  var scoreId = NO_TOKEN;
  if (isBlock && own > BANNED_LIMIT) {
    score = partialFloat(row, t, 0u);
    if (isSampled) {
      score += (own - row.zMax) * row.inverseTemperature;
    }
    scoreId = partials[(row.index * BLOCKS + t) * PARTIAL_WORDS + 1u];
  }
  reduceBest(t, score, scoreId);
  if (t == 0u) {
    let flags = atomicLoad(&rowFlags);
    var status = flags & STATUS_NOT_FINITE;
    status |= select(STATUS_FLAT, 0u, (flags & NOT_FLAT) != 0u || VOCAB == 1u);
    status |= select(0u, STATUS_ALL_BANNED, idOf[0] == NO_TOKEN);
    sharedFlag = status;
  }
  let status = workgroupUniformLoad(&sharedFlag);
  let base = row.index * RECORD_WORDS;
  if (status != 0u) {
    // Token 0, so that steps already in flight stay within the vocabulary.
    if (t == 0u) {
      tokens[row.slot] = 0u;
      records[base] = 0u;
      records[base + 1u] = status;
    }
    return;
  }

  var token = workgroupUniformLoad(&idOf[0]);
  if (isSampled) {
    let topP = paramFloat(row.slot, 1u);
    if (topP < 1.0 || paramWord(row.slot, 3u) > 0u || row.logMinP > BANNED_LIMIT) {
      var mass = 0.0;
      if (isBlock) {
        mass = partialFloat(row, t, 3u) * exp((own - row.zMax) * row.inverseTemperature);
      }
      mass = reduceSum(t, mass);
      token = choose(t, row, token, mass);
    }
  }
  if (t == 0u) {
    tokens[row.slot] = token;
    records[base] = token;
    records[base + 1u] = 0u;
    records[base + 2u] = 0u;
    records[base + 3u] = 0u;
  }
  if (topLogprobs > 0u) {
    var rawMax = BANNED;
    if (isBlock) {
      rawMax = partialFloat(row, t, 4u);
    }
    let largest = reduceMax(t, rawMax);
    var rawSum = 0.0;
    if (isBlock) {
      rawSum = partialFloat(row, t, 5u) * exp(rawMax - largest);
    }
    let logSum = largest + ln(reduceSum(t, rawSum));
    if (t == 0u) {
      records[base + 2u] = bitcast<u32>(rawAt(row, token) - logSum);
    }
    writeTop(t, row, topLogprobs, logSum);
  }
}
