// route: the experts of a token and their weights, found anew by each workgroup that needs them, from the router's logits.
//
// logits [rows, LOGITS_STRIDE] f32: COUNT of each row
// extra  f32 with BIAS: router [COUNT], then gate [COUNT, SIZE], up [COUNT, SIZE], down [COUNT, HIDDEN]; with SELECTION_BIAS before these: [COUNT]
@group(0) @binding(4) var<storage, read> logits: array<f32>;
//#if EXTRA
@group(0) @binding(5) var<storage, read> extra: array<f32>;
//#endif

const SELECTION: u32 = select(0u, COUNT, SELECTION_BIAS);
const GATE_BIAS_AT: u32 = SELECTION + COUNT;
const UP_BIAS_AT: u32 = GATE_BIAS_AT + COUNT * SIZE;
const DOWN_BIAS_AT: u32 = UP_BIAS_AT + COUNT * SIZE;

var<workgroup> scores: array<f32, COUNT>;
var<workgroup> ranks: array<f32, COUNT>;
var<workgroup> chosen: array<u32, USED>;

// Fills `chosen`, the best expert first, and `scores`; all threads of the workgroup call it.
fn route(row: u32, tid: u32) {
  for (var e = tid; e < COUNT; e += WG) {
    var logit = logits[row * LOGITS_STRIDE + e];
    //#if BIAS
    logit += extra[SELECTION + e];
    //#endif
    //#if SIGMOID
    let score = 1.0 / (1.0 + exp(-logit));
    //#else
    let score = logit;
    //#endif
    scores[e] = score;
    //#if SELECTION_BIAS
    ranks[e] = score + extra[e];
    //#else
    ranks[e] = score;
    //#endif
  }
  workgroupBarrier();
  for (var e = tid; e < COUNT; e += WG) {
    let own = ranks[e];
    var rank = 0u;
    for (var other = 0u; other < COUNT; other++) {
      let value = ranks[other];
      if (value > own || (value == own && other < e)) { rank += 1u; }
    }
    if (rank < USED) { chosen[rank] = e; }
  }
  workgroupBarrier();
}

// Weight of the expert in that place of `chosen`.
fn weight_of(place: u32) -> f32 {
  let own = scores[chosen[place]];
  var total = 0.0;
  for (var i = 0u; i < USED; i++) {
    //#if SIGMOID
    total += scores[chosen[i]];
    //#else
    total += exp(scores[chosen[i]] - own);
    //#endif
  }
  //#if SIGMOID
  return WEIGHT_SCALE * own / total;
  //#else
  return WEIGHT_SCALE / total;
  //#endif
}
