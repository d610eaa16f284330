// One block of one row: adjusts the logits (definition.ts, steps 1 to 6) and reduces the block to 8 words.
//
// Bindings 0-2: sample-common.wgsl.
//   3 state     [slots, STATE_STRIDE] u32: counts (output count in the low 16 bits, prompt count in the high), mask, history
//   4 tokens    [slots] u32: the latest sampled token of each slot
//   5 adjusted  [rows, VOCAB] f32: z of rows that are not plain
//   6 partials  [rows, BLOCKS, PARTIAL_WORDS]: best score relative to the block's largest s, best id, largest z, mass relative to it,
//               largest raw logit, sum of exp(raw - that), flags
// Workgroup WORKGROUP, dispatch (BLOCKS, rows, 1).

@group(0) @binding(3) var<storage, read> state: array<u32>;
@group(0) @binding(4) var<storage, read> tokens: array<u32>;
@group(0) @binding(5) var<storage, read_write> adjusted: array<f32>;
@group(0) @binding(6) var<storage, read_write> partials: array<u32>;

var<workgroup> blockFlags: atomic<u32>;

// The first bias entry of the slot whose id is at least `id`.
fn lowerBias(slot: u32, id: u32) -> u32 {
  var low = 0u;
  var high = paramWord(slot, 10u);
  while (low < high) {
    let middle = (low + high) / 2u;
    if (paramWord(slot, PARAM_WORDS + middle) < id) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}

// How often a step appends this token up to and with this row: that is not in the counts yet, as sample-final puts it there.
fn countPending(row: u32, depth: u32, pending: u32, id: u32) -> u32 {
  var count = select(0u, 1u, id == pending);
  for (var i = 1u; i <= depth; i++) {
    count += select(0u, 1u, id == steps[row - i].w);
  }
  return count;
}

fn penalise(slot: u32, logit: f32, counts: u32) -> f32 {
  if (counts == 0u) {
    return logit;
  }
  var z = logit * select(paramFloat(slot, 4u), paramFloat(slot, 5u), logit > 0.0);
  let outputCount = counts & 0xffffu;
  if (outputCount > 0u) {
    z = z - f32(outputCount) * paramFloat(slot, 6u) - paramFloat(slot, 7u);
  }
  return z;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = group.y;
  let step = steps[row];
  if ((step.z & STEP_SAMPLE) == 0u) {
    return;
  }
  let slot = step.x;
  let isSampled = !GREEDY_ONLY && (paramWord(slot, 11u) & FLAG_SAMPLED) != 0u;
  let isPenalised = (paramWord(slot, 11u) & FLAG_PENALISED) != 0u;
  let isMasked = (step.z & STEP_MASKED) != 0u;
  let wantsLogprobs = paramWord(slot, 9u) > 0u;
  let plain = isPlain(slot, step.z);
  let rowBase = row * LOGITS_STRIDE;
  let stateBase = slot * STATE_STRIDE;
  let blockBase = group.x * BLOCK;
  let blockEnd = min(blockBase + BLOCK, VOCAB);

  var pending = NO_TOKEN;
  if ((step.z & STEP_APPEND_PREVIOUS) != 0u) {
    pending = tokens[slot];
  } else if ((step.z & STEP_APPEND_TOKEN) != 0u) {
    pending = step.w;
  }
  var biasLow = 0u;
  var biasHigh = 0u;
  if (paramWord(slot, 10u) > 0u) {
    biasLow = lowerBias(slot, blockBase);
    biasHigh = lowerBias(slot, blockEnd);
  }

  let first = logits[rowBase];
  var flags = 0u;
  var zMax = BANNED;
  var zId = NO_TOKEN;
  var rawMax = BANNED;
  for (var id = blockBase + t; id < blockEnd; id += WORKGROUP) {
    let bits = logits[rowBase + id];
    flags |= select(0u, STATUS_NOT_FINITE, isFaulty(bits));
    // Zeros of either sign are equal.
    flags |= select(0u, NOT_FLAT, bits != first && ((bits | first) << 1u) != 0u);
    var z = finite(bits);
    rawMax = max(rawMax, z);
    if (!plain) {
      if (z > BANNED_LIMIT) {
        for (var entry = biasLow; entry < biasHigh; entry++) {
          if (paramWord(slot, PARAM_WORDS + entry) == id) {
            z += paramFloat(slot, PARAM_WORDS + BIAS_CAPACITY + entry);
          }
        }
        if (isPenalised && z > BANNED_LIMIT) {
          z = penalise(slot, z, state[stateBase + id] + countPending(row, step.z >> DEPTH_SHIFT, pending, id));
        }
      }
      if (isMasked && ((state[stateBase + MASK_OFFSET + id / 32u] >> (id % 32u)) & 1u) == 0u) {
        z = BANNED;
      }
      z = select(z, BANNED, z <= BANNED_LIMIT);
      adjusted[row * VOCAB + id] = z;
    }
    if (z > zMax) {
      zMax = z;
      zId = id;
    }
  }
  if (flags != 0u) {
    atomicOr(&blockFlags, flags);
  }
  reduce(t, zMax, zId, rawMax, 0.0, false);
  let blockMax = valueOf[0];
  var score = blockMax;
  var scoreId = idOf[0];
  rawMax = pairOf[0];

  var mass = 0.0;
  var rawSum = 0.0;
  if (isSampled || wantsLogprobs) {
    // A greedy row keeps its best token through the second reduction.
    var own = score;
    var ownId = scoreId;
//#if !GREEDY_ONLY
    if (isSampled) {
      own = BANNED;
      ownId = NO_TOKEN;
    }
    let inverseTemperature = paramFloat(slot, 0u);
    let seed = paramWord(slot, 8u);
    let needsMass = paramFloat(slot, 1u) < 1.0;
//#endif
    for (var id = blockBase + t; id < blockEnd; id += WORKGROUP) {
      let raw = finite(logits[rowBase + id]);
      if (wantsLogprobs && raw > BANNED_LIMIT) {
        rawSum += exp(raw - rawMax);
      }
//#if !GREEDY_ONLY
      var z = raw;
      if (!plain) {
        z = adjusted[row * VOCAB + id];
      }
      if (isSampled && z > BANNED_LIMIT) {
        let s = (z - blockMax) * inverseTemperature;
        if (needsMass) {
          mass += exp(s);
        }
        if (s > HOPELESS) {
          let noisy = s + gumbel(noise(seed, step.y, id));
          if (noisy > own) {
            own = noisy;
            ownId = id;
          }
        }
      }
//#endif
    }
    reduce(t, own, ownId, mass, rawSum, true);
    score = valueOf[0];
    scoreId = idOf[0];
    mass = pairOf[0];
    rawSum = pairOf[HALF];
  }

  if (t == 0u) {
    let base = (row * BLOCKS + group.x) * PARTIAL_WORDS;
    partials[base] = bitcast<u32>(score);
    partials[base + 1u] = scoreId;
    partials[base + 2u] = bitcast<u32>(blockMax);
    partials[base + 3u] = bitcast<u32>(mass);
    partials[base + 4u] = bitcast<u32>(rawMax);
    partials[base + 5u] = bitcast<u32>(rawSum);
    partials[base + 6u] = atomicLoad(&blockFlags);
  }
}
