// epilogue: what becomes of a sum of linear and matmul, in y [rows, Y_STRIDE] from column Y_OFFSET on
//
// The sum is stored; with GATED act(row n) * row (N_OUT + n) instead, act being SiLU or (GELU) the tanh form of GELU; with MULTIPLIED
// act(sum) * multiplier [rows, MULTIPLIER_STRIDE] from column MULTIPLIER_FROM on; with BIAS
// bias[Y_OFFSET + n] is added, then all of it is multiplied with FACTOR, with RESIDUAL what y holds is added, and with SOFTCAP the
// result capped. With BOUNDED, rows from step[0] on and columns from N_OUT on are left alone; without, the kernel calls store for no
// such row or column.
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
//#if BIAS
@group(0) @binding(5) var<storage, read> bias: array<f32>;
//#endif
//#if MULTIPLIED
@group(0) @binding(10) var<storage, read> multiplier: array<f32>;
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
  //#if MULTIPLIED
  value = activate(sum) * multiplier[m * MULTIPLIER_STRIDE + MULTIPLIER_FROM + n];
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
  //#if SOFTCAP
  value = SOFTCAP * tanh(clamp(value / SOFTCAP, -15.0, 15.0));
  //#endif
  y[to] = value;
}
