// epilogue: what becomes of a sum of linear and matmul, in y [rows, Y_STRIDE] from column Y_OFFSET on
//
// The sum is stored; with GATED act(row n) * row (N_OUT + n) instead, act being SiLU or (GELU) the tanh form of GELU; with BIAS
// bias[Y_OFFSET + n] is added, then all of it multiplied with FACTOR, and with RESIDUAL what y holds is added. With BOUNDED, rows from step[0] on and columns from N_OUT on are left alone;
// without, the kernel calls store for no such row or column.
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
//#if BIAS
@group(0) @binding(5) var<storage, read> bias: array<f32>;
//#endif

fn activate(v: f32) -> f32 {
//#if GELU
  let inner = 0.7978845608028654 * (v + 0.044715 * v * v * v);
  return 0.5 * v * (1.0 + tanh(clamp(inner, -15.0, 15.0)));
//#else
  return v / (1.0 + exp(-v));
//#endif
}

fn store(m: u32, n: u32, sum: f32, up: f32) {
  //#if BOUNDED
  if (m >= step[0] || n >= N_OUT) { return; }
  //#endif
  let to = m * Y_STRIDE + Y_OFFSET + n;
  var value = sum;
  //#if GATED
  value = activate(sum) * up;
  //#endif
  //#if BIAS
  value += bias[Y_OFFSET + n];
  //#endif
  //#if FACTOR
  value *= FACTOR;
  //#endif
  //#if RESIDUAL
  value += y[to];
  //#endif
  y[to] = value;
}
