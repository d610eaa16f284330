import { expect } from 'chai';
import { isTokenglassError } from '../../../shared/errors.ts';
import { makeSyntheticGguf, SHAPES } from '../testing/synthetic-model.ts';
import { createBuiltInSource, TUTOR_GGUF } from '../builtin.ts';
import { dequantize } from './dequantize.ts';
import { int8Copy } from './int8-copy.ts';
import { readGgufHeader } from './read-header.ts';

async function tutor(): Promise<Uint8Array<ArrayBuffer>> {
  const { stream } = await createBuiltInSource().open(TUTOR_GGUF);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

describe('int8Copy', () => {
  it('int8Copy: every weight of the built-in model keeps its value, in twice the bytes', async () => {
    const file = await tutor();
    const before = file.slice();
    const copy = await int8Copy(file);
    expect(file, 'the file itself is left alone').to.deep.equal(before);
    const from = await readGgufHeader(file, { totalBytes: file.length });
    const to = await readGgufHeader(copy, { totalBytes: copy.length });
    expect(to.metadata.get('general.file_type')).to.equal(7);
    const rest = (header: typeof from) => [...header.metadata].filter(([key]) => key !== 'general.file_type');
    expect(rest(to)).to.deep.equal(rest(from));
    let bytes = 0;
    for (const [index, tensor] of to.tensors.entries()) {
      const original = from.tensors[index]!;
      expect(tensor.name).to.equal(original.name);
      expect(tensor.shape).to.deep.equal(original.shape);
      expect(tensor.type).to.equal(original.type === 'Q4_0' ? 'Q8_0' : original.type);
      const values = (of: typeof tensor, all: Uint8Array) =>
        dequantize(of.type, all.subarray(of.offset, of.offset + of.byteLength));
      expect(values(tensor, copy), tensor.name).to.deep.equal(values(original, file));
      if (original.type === 'Q4_0') bytes += tensor.byteLength / original.byteLength;
    }
    expect(bytes / to.tensors.filter(({ type }) => type === 'Q8_0').length).to.be.closeTo(34 / 18, 1e-9);
  });

  it('int8Copy: refuses a file without Q4_0, and one that is no GGUF', async () => {
    const others = makeSyntheticGguf({ ...SHAPES.tiny, architecture: 'llama', quantization: 'Q6_K' });
    for (const [file, code] of [
      [others, 'model-unsupported'],
      [new Uint8Array(64), 'model-invalid'],
    ] as const) {
      const error = await int8Copy(file).catch((reason: unknown) => reason);
      expect(isTokenglassError(error) && error.code).to.equal(code);
    }
  });
});
