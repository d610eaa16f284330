// What becomes of a sum of matmul: stored, or with RESIDUAL added to y, with BIAS plus bias[Y_OFFSET + n], with GATED act(row n) *
// row (N_OUT + n), act being SiLU or (GELU) the tanh form of GELU. Rows beyond step[0] and columns beyond N_OUT are left alone.
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
//#if BIAS
@group(0) @binding(5) var<storage, read> bias: array<f32>;
//#endif
@group(0) @binding(9) var<storage, read> step: array<u32>;

fn activate(v: f32) -> f32 {
//#if GELU
  let inner = 0.7978845608028654 * (v + 0.044715 * v * v * v);
  return 0.5 * v * (1.0 + tanh(clamp(inner, -15.0, 15.0)));
//#else
  return v / (1.0 + exp(-v));
//#endif
}

fn store(m: u32, n: u32, sum: f32, up: f32) {
  if (m >= step[0] || n >= N_OUT) { return; }
  let to = m * Y_STRIDE + Y_OFFSET + n;
  var value = sum;
  //#if GATED
  value = activate(sum) * up;
  //#endif
  //#if BIAS
  value += bias[Y_OFFSET + n];
  //#endif
  //#if RESIDUAL
  value += y[to];
  //#endif
  y[to] = value;
}
