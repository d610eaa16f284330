import { expect } from 'chai';
import { createFileSource } from './file-source.ts';
import { splitSet } from './gguf-split.ts';
import { ByteReader } from './gguf/byte-reader.ts';
import { readGgufHeader } from './gguf/read-header.ts';
import { joinSplitFiles } from './joined-gguf.ts';
import { concatChunks, ggufChunks, str, u32, type TensorSpec, type TypedValue } from './testing/gguf-writer.ts';
import { readAll, rejection } from './testing/test-store.ts';

/** A tensor whose every byte says which one it is; lengths that leave padding. */
function tensor(name: string, rows: number): TensorSpec {
  const bytes = new Uint8Array(rows * 18).fill(name.charCodeAt(0));
  return { name, shape: [32, rows], type: 'Q4_0', chunks: () => [bytes] };
}

const METADATA: readonly (readonly [string, TypedValue])[] = [
  ['general.architecture', str('llama')],
  ['general.name', str('gemüse')],
];

/** Three files, as gguf-split makes them: metadata in the first, which has no tensors here. */
function splitFiles(): File[] {
  const parts = [[], [tensor('a', 3), tensor('bé', 7)], [tensor('c', 5)]];
  const paths = splitSet('m-00001-of-00003.gguf')!;
  return parts.map((tensors, index) => {
    const split: [string, TypedValue][] = [
      ['split.no', u32(index)],
      ['split.count', u32(3)],
      ['split.tensors.count', u32(3)],
    ];
    const metadata = index === 0 ? [...METADATA, ...split] : split;
    return new File([concatChunks(ggufChunks({ metadata, tensors }))], paths[index]!);
  });
}

describe('joinSplitFiles', () => {
  it('open: gives the files of a set as one GGUF file with all tensors', async () => {
    const source = joinSplitFiles(createFileSource(splitFiles()));
    const { totalBytes } = await source.open('m-00001-of-00003.gguf');
    const bytes = await readAll(source, 'm-00001-of-00003.gguf');
    expect(bytes.length).to.equal(totalBytes);
    const header = await readGgufHeader(new ByteReader(bytes), { totalBytes: bytes.length });
    expect(header.metadata.get('general.name')).to.equal('gemüse');
    expect(header.tensors.map(({ name, shape }) => [name, ...shape])).to.deep.equal([
      ['a', 32, 3],
      ['bé', 32, 7],
      ['c', 32, 5],
    ]);
    for (const { name, offset, byteLength } of header.tensors) {
      const content = bytes.subarray(offset, offset + byteLength);
      expect(content.every((byte) => byte === name.charCodeAt(0)), name).to.equal(true);
    }
  });

  it('open: gives a part of the joined file, and passes other files through', async () => {
    const source = joinSplitFiles(createFileSource([...splitFiles(), new File(['{}'], 'config.json')]));
    const whole = await readAll(source, 'm-00001-of-00003.gguf');
    const { stream } = await source.open('m-00001-of-00003.gguf', { start: 100, end: whole.length - 50 });
    const part = new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
    expect([...part]).to.deep.equal([...whole.subarray(100, whole.length - 50)]);
    expect(new TextDecoder().decode(await readAll(source, 'config.json'))).to.equal('{}');
  });

  it('open: a file that is missing, and files of different sets, are refused', async () => {
    const [first, second, third] = splitFiles() as [File, File, File];
    const missing = joinSplitFiles(createFileSource([first, third]));
    expect(await rejection(missing.open('m-00001-of-00003.gguf'))).to.have.property('code', 'model-not-found');
    const twice = new File([await second.arrayBuffer()], third.name);
    const mixed = joinSplitFiles(createFileSource([first, second, twice]));
    expect(await rejection(mixed.open('m-00001-of-00003.gguf'))).to.have.property('code', 'model-invalid');
    const many = joinSplitFiles(createFileSource([first]));
    expect(await rejection(many.open('m-00001-of-00007.gguf'))).to.have.property('code', 'model-unsupported');
  });
});
