// short-conv: out = C * (causal convolution of B * X over the last TAPS tokens), for the rows of every sequence of a step.
//
// bcx     [rows, IN_STRIDE] f32: WIDTH of B, of C, of X
// kernel  [WIDTH, TAPS] f32, the oldest token first
// states  [pages, (TAPS - 1) * WIDTH] f32: B * X of the tokens before, the oldest first
// step    runs and marks: state.wgsl
// out     [rows, OUT_STRIDE] f32
// workgroup: 64 threads, a channel each, which walks along the rows; dispatch: (ceil(WIDTH / 64), sequences)
@group(0) @binding(0) var<storage, read> bcx: array<f32>;
@group(0) @binding(1) var<storage, read> kernel: array<f32>;
@group(0) @binding(2) var<storage, read_write> states: array<f32>;
@group(0) @binding(3) var<storage, read> step: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let channel = id.x;
  if (channel >= WIDTH) { return; }
  let run = run_of(id.y);
  let source = run.source * STATE + channel;
  //#unroll t BEFORE
  var past_$t = states[source + $tu * WIDTH];
  let tap_$t = kernel[channel * TAPS + $tu];
  //#endunroll
  let tap_now = kernel[channel * TAPS + BEFORE];
  for (var i = 0u; i < run.rows; i++) {
    let at = (run.first + i) * IN_STRIDE + channel;
    let now = bcx[at] * bcx[at + 2u * WIDTH];
    var sum = tap_now * now;
    //#unroll t BEFORE
    sum += tap_$t * past_$t;
    //#endunroll
    out[(run.first + i) * OUT_STRIDE + channel] = bcx[at + WIDTH] * sum;
    //#unroll t BEFORE_LAST
    past_$t = past_$(t+ONE);
    //#endunroll
    //#unroll z 1
    past_$(z+BEFORE_LAST) = now;
    //#endunroll
    let mark = mark_after(run, i);
    if (mark != 0u) {
      //#unroll t BEFORE
      states[mark * STATE + $tu * WIDTH + channel] = past_$t;
      //#endunroll
    }
  }
  //#unroll t BEFORE
  states[run.goal * STATE + $tu * WIDTH + channel] = past_$t;
  //#endunroll
}
