// matmul: y[m, n] = epilogue(sum over k of W[n, k] * x[m, k]) for many rows: a prefill chunk.
//
// x        [rows, X_STRIDE] f32 (as vec4), zero beyond the true width
// weights  [N, UNITS] units of 16 bytes; scales as the format says
// y        [rows, Y_STRIDE] f32, written from column Y_OFFSET
// step     word 0: how many rows there are
// epilogue epilogue.wgsl
//
// With HALF (shader-f16) tiles are f16, and so are the products and sums of 8 of them; the sum over k is f32.
//
// workgroup: 16 x 16 threads make TM x 64 outputs; each thread TM/16 rows of x by 4 rows of W
// dispatch:  (ceil(N_OUT / (64, with GATED 32)), ceil(rows / TM))
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
//#if SCALED
@group(0) @binding(2) var<storage, read> scales: array<u32>;
//#endif
@group(0) @binding(9) var<storage, read> step: array<u32>;

// A tile is 32 wide along k: 8 vec4 a row, their order twisted by the row so that threads side by side hit other banks.
//#if HALF
alias Tile = vec4<f16>;
// What f16 cannot hold becomes the largest number that it can.
fn narrow(v: vec4<f32>) -> Tile { return Tile(clamp(v, vec4<f32>(-65504.0), vec4<f32>(65504.0))); }
//#else
alias Tile = vec4<f32>;
fn narrow(v: vec4<f32>) -> Tile { return v; }
//#endif
var<workgroup> tile_x: array<Tile, TM * 8>;
var<workgroup> tile_w: array<Tile, 64 * 8>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let tx = tid % 16u;
  let ty = tid / 16u;
  let first = group.y * TM;
  // This thread's part of loading a tile of W: two vec4 of one row.
  let load_row = tid / 4u;
  let load_part = (tid % 4u) * 2u;
  //#if GATED
  let load_n = min(group.x * 32u + load_row % 32u, N_OUT - 1u) + select(0u, N_OUT, load_row >= 32u);
  //#else
  let load_n = min(group.x * 64u + load_row, N_OUT - 1u);
  //#endif

  //#unroll a ROWS_X
  //#unroll b 4
  var sum_$a_$b = 0.0;
  //#endunroll
  //#endunroll

  for (var k = 0u; k < K_VECTORS; k += 8u) {
    for (var i = tid; i < TM * 8u; i += 256u) {
      let row = i / 8u;
      let column = i % 8u;
      var value = vec4<f32>(0.0);
      if (k + column < X_STRIDE / 4u) { value = x[(first + row) * (X_STRIDE / 4u) + k + column]; }
      tile_x[row * 8u + (column ^ (row & 7u))] = narrow(value);
    }
    for (var i = 0u; i < 2u; i++) {
      let column = load_part + i;
      let unit = (k + column) / UNIT_X;
      var value = vec4<f32>(0.0);
      if (unit < UNITS) {
        let at = load_n * UNITS + unit;
        value = decode(weights[at], (k + column) % UNIT_X);
        //#if SCALED
        let scale = unit_scale(at);
        value = value * scale.x + scale.y;
        //#endif
      }
      tile_w[load_row * 8u + (column ^ (load_row & 7u))] = narrow(value);
    }
    workgroupBarrier();
    //#if HALF
    //#unroll a ROWS_X
    //#unroll b 4
    var part_$a_$b = Tile();
    //#endunroll
    //#endunroll
    //#endif
    for (var c = 0u; c < 8u; c++) {
      //#unroll a ROWS_X
      let x_$a = tile_x[(ty + $au * 16u) * 8u + (c ^ (ty & 7u))];
      //#endunroll
      //#unroll b 4
      let w_$b = tile_w[(tx + $bu * 16u) * 8u + (c ^ (tx & 7u))];
      //#unroll a ROWS_X
      //#if HALF
      part_$a_$b += x_$a * w_$b;
      //#else
      sum_$a_$b += dot(x_$a, w_$b);
      //#endif
      //#endunroll
      //#endunroll
    }
    //#if HALF
    //#unroll a ROWS_X
    //#unroll b 4
    sum_$a_$b += dot(vec4<f32>(part_$a_$b), vec4<f32>(1.0));
    //#endunroll
    //#endunroll
    //#endif
    workgroupBarrier();
  }

  //#unroll a ROWS_X
  let m_$a = first + ty + $au * 16u;
  //#if GATED
  store(m_$a, group.x * 32u + tx, sum_$a_0, sum_$a_2);
  store(m_$a, group.x * 32u + tx + 16u, sum_$a_1, sum_$a_3);
  //#else
  //#unroll b 4
  store(m_$a, group.x * 64u + tx + $bu * 16u, sum_$a_$b, 0.0);
  //#endunroll
  //#endif
  //#endunroll
}
