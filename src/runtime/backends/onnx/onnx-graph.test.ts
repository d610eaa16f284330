import { expect } from 'chai';
import { summarizeOnnxGraph } from './onnx-graph.ts';
import { DATA_TYPE, initializer, node, onnxModel } from './testing/onnx-writer.ts';

const floats = (length: number): Float32Array => new Float32Array(length).fill(0.5);

describe('summarizeOnnxGraph', () => {
  const parts = {
    nodes: [
      node('GatherBlockQuantized', ['table', 'input_ids', 'table_scales'], ['x'], { ints: { bits: 4 } }),
      node('MatMulNBits', ['x', 'w4', 'w4_scales', 'w4_zeros'], ['y'], { ints: { K: 64, N: 8, bits: 4 } }),
      node('MatMulNBits', ['y', 'w8', 'w8_scales'], ['z'], { ints: { K: 64, N: 8, bits: 8 } }),
      node('Add', ['z', 'bias'], ['logits']),
    ],
    initializers: [
      initializer('table', [10, 32], new Uint8Array(320)),
      initializer('table_scales', [10, 2], floats(20)),
      initializer('w4', [8, 2, 16], new Uint8Array(256), 'm.onnx_data'),
      initializer('w4_scales', [16], floats(16), 'm.onnx_data'),
      initializer('w4_zeros', [8], new Uint8Array(8), 'm.onnx_data_1'),
      initializer('w8', [8, 2, 32], new Uint8Array(512)),
      initializer('w8_scales', [16], floats(16)),
      initializer('bias', [8], floats(8)),
      initializer('axis', [1], new BigInt64Array([1n])),
    ],
    inputs: [],
    outputs: [],
  };

  it('summarizeOnnxGraph: counts packed weights by their bits, and neither scales nor constants', () => {
    const summary = summarizeOnnxGraph(onnxModel(parts));
    expect(summary.embeddingParameters).to.equal(640);
    expect(summary.parameters).to.equal(640 + 512 + 512 + 8);
    expect(summary.weightBytes).to.equal(320 + 80 + 256 + 64 + 8 + 512 + 64 + 32 + 8);
    expect(summary.externalFiles).to.deep.equal(['m.onnx_data', 'm.onnx_data_1']);
  });

  it('summarizeOnnxGraph: an embedding table that another operator uses is not one of its own', () => {
    const nodes = [...parts.nodes, node('Cast', ['table'], ['t'], { ints: { to: DATA_TYPE.float32 } })];
    expect(summarizeOnnxGraph(onnxModel({ ...parts, nodes })).embeddingParameters).to.equal(0);
  });

  it('summarizeOnnxGraph: bytes that are no ONNX are model-invalid, wherever they are cut', () => {
    const model = onnxModel(parts);
    for (const length of [0, 1, 7, 100, model.length - 100]) {
      const cut = (): unknown => summarizeOnnxGraph(model.subarray(0, length));
      expect(cut, `${length} bytes`).to.throw().with.property('code', 'model-invalid');
    }
    const json = new TextEncoder().encode('{"error":"not found"}');
    expect(() => summarizeOnnxGraph(json))
      .to.throw()
      .with.property('code', 'model-invalid');
  });
});
