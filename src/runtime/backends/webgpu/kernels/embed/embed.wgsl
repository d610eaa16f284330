// embed: x[m] = row token[m] of the embedding matrix * SCALE, for rows [FROM, FROM + ROWS) of the vocabulary (a matrix above the
// binding limit comes in several parts; each part writes the tokens it has).
//
// weights [ROWS, UNITS] units of 16 bytes; x [rows, X_STRIDE] f32 (as vec4)
// step    words ROWS_AT + 4 m: token id, or with the highest bit set the slot of `tokens` that holds it
// history [slots, CONTEXT] u32, with HISTORY: ids of each sequence by position, kept here; a source with the bit below the highest
//         set means the one that is there already (the row's position and slot: words 1 and 2)
// tokens  [slots] u32: the latest sampled token of each sequence
// workgroup: 64 threads, a unit each; dispatch: (ceil(UNITS / 64), rows)
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
//#if SCALED
@group(0) @binding(1) var<storage, read> scales: array<u32>;
//#endif
@group(0) @binding(2) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(4) var<storage, read> tokens: array<u32>;

//#if HISTORY
@group(0) @binding(5) var<storage, read_write> history: array<u32>;
//#endif

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let unit = group.x * 64u + tid;
  let source = step[ROWS_AT + group.y * 4u];
  var token = source;
  if ((source & 0x80000000u) != 0u) { token = tokens[source & 0x7fffffffu]; }
  //#if HISTORY
  let at_history = step[ROWS_AT + group.y * 4u + 2u] * CONTEXT + step[ROWS_AT + group.y * 4u + 1u];
  if (source == 0x40000000u) { token = history[at_history]; }
  //#endif
  if (token >= VOCABULARY) { token = 0u; }
  if (unit >= UNITS || token < FROM || token >= FROM + ROWS) { return; }
  //#if HISTORY
  if (unit == 0u && source != 0x40000000u) { history[at_history] = token; }
  //#endif
  let at = (token - FROM) * UNITS + unit;
  let q = weights[at];
  //#if SCALED
  let scale = unit_scale(at);
  //#endif
  for (var j = 0u; j < UNIT_X; j++) {
    var value = decode(q, j);
    //#if SCALED
    value = value * scale.x + scale.y;
    //#endif
    x[group.y * (X_STRIDE / 4u) + unit * UNIT_X + j] = value * SCALE;
  }
}
