// matmul-dot8: as matmul, with x rounded to INT8 in groups of 16 (scale: the largest of them / 127) and multiplied by packed dot products.
//
// x        [rows, X_STRIDE] f32 (as vec4), zero beyond the true width
// weights  [N, UNITS] units of 16 bytes, INT4 or INT8; scales as the format says
// y        [rows, Y_STRIDE] f32, written from column Y_OFFSET
// step     word 0: how many rows there are
// epilogue epilogue.wgsl
//
// sum over k = sum over groups: scale_x * (scale_w * (integer dot product) + minimum_w * (sum of rounded x)); the integers are exact
//
// workgroup: 16 x 16 threads make TM x 64 outputs; each thread TM/16 rows of x by 4 rows of W
// dispatch:  (ceil(N_OUT / (64, with GATED 32)), ceil(rows / TM))
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;
@group(0) @binding(9) var<storage, read> step: array<u32>;

// A tile is 32 wide along k: two groups of 16 bytes a row, their order twisted by the row so that threads side by side hit other banks.
var<workgroup> tile_x: array<vec4<u32>, TM * 2>;
var<workgroup> tile_w: array<vec4<u32>, 64 * 2>;
// x: scale, scale * sum; W: scale, minimum
var<workgroup> scale_x: array<vec2<f32>, TM * 2>;
var<workgroup> scale_w: array<vec2<f32>, 64 * 2>;

fn slot(row: u32, half: u32) -> u32 { return row * 2u + (half ^ ((row >> 2u) & 1u)); }

fn largest(v: vec4<f32>) -> f32 {
  let a = abs(v);
  return max(max(a.x, a.y), max(a.z, a.w));
}

fn load_x(row: u32, half: u32, at: u32) {
  let a = x[at];
  let b = x[at + 1u];
  let c = x[at + 2u];
  let d = x[at + 3u];
  let most = max(max(largest(a), largest(b)), max(largest(c), largest(d)));
  let inverse = select(0.0, 127.0 / most, most > 0.0);
  let q = vec4<u32>(
    pack4xI8(vec4<i32>(round(a * inverse))),
    pack4xI8(vec4<i32>(round(b * inverse))),
    pack4xI8(vec4<i32>(round(c * inverse))),
    pack4xI8(vec4<i32>(round(d * inverse))),
  );
  let scale = most / 127.0;
  tile_x[slot(row, half)] = q;
  scale_x[slot(row, half)] = vec2<f32>(scale, scale * f32(dot16(q, vec4<u32>(0x01010101u))));
}

fn load_w(row: u32, half: u32, n: u32, k: u32) {
  let group = k / 16u + half;
  let at = n * UNITS + group * 4u / UNIT_X;
  var q = vec4<u32>(0u);
  var scale = vec2<f32>(0.0);
  if (group * 4u / UNIT_X < UNITS) {
    q = bytes16(weights[at], group);
    scale = unit_scale(at);
  }
  tile_w[slot(row, half)] = q;
  scale_w[slot(row, half)] = scale;
}

fn dot16(a: vec4<u32>, b: vec4<u32>) -> i32 {
  return dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y) + dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let tx = tid % 16u;
  let ty = tid / 16u;
  let first = group.y * TM;

  //#unroll a ROWS_X
  //#unroll b 4
  var sum_$a_$b = 0.0;
  //#endunroll
  //#endunroll

  for (var k = 0u; k < X_STRIDE; k += 32u) {
    // A thread loads groups of 16: of W first, the rest of the threads of x.
    for (var i = tid; i < 128u + TM * 2u; i += 256u) {
      let half = i & 1u;
      if (i < 128u) {
        let row = i / 2u;
        //#if GATED
        let n = min(group.x * 32u + row % 32u, N_OUT - 1u) + select(0u, N_OUT, row >= 32u);
        //#else
        let n = min(group.x * 64u + row, N_OUT - 1u);
        //#endif
        load_w(row, half, n, k);
      } else {
        let row = (i - 128u) / 2u;
        load_x(row, half, (first + row) * (X_STRIDE / 4u) + k / 4u + half * 4u);
      }
    }
    workgroupBarrier();
    for (var half = 0u; half < 2u; half++) {
      //#unroll a ROWS_X
      let x_$a = tile_x[slot(ty + $au * 16u, half)];
      let s_$a = scale_x[slot(ty + $au * 16u, half)];
      //#endunroll
      //#unroll b 4
      let w_$b = tile_w[slot(tx + $bu * 16u, half)];
      let t_$b = scale_w[slot(tx + $bu * 16u, half)];
      //#unroll a ROWS_X
      sum_$a_$b += s_$a.x * t_$b.x * f32(dot16(x_$a, w_$b));
      //#if OFFSET
      sum_$a_$b += s_$a.y * t_$b.y;
      //#endif
      //#endunroll
      //#endunroll
    }
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
