import { expect } from 'chai';
import { collectFiles, createFileSource } from './file-source.ts';
import { splitSet } from './gguf-split.ts';
import { readAll, rejection } from './testing/test-store.ts';

const file = (text: string, name = 'x'): File => new File([text], name);
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

describe('createFileSource', () => {
  it('open: gives files of a folder by their path in it, whole and in part', async () => {
    const source = createFileSource([
      { path: 'model/config.json', file: file('{}') },
      { path: 'model/onnx/model_q4.onnx', file: file('0123456789') },
    ]);
    expect(source).to.deep.include({ id: 'model', kind: 'file', paths: ['config.json', 'onnx/model_q4.onnx'] });
    expect(text(await readAll(source, 'config.json'))).to.equal('{}');
    const { stream, totalBytes } = await source.open('onnx/model_q4.onnx', { start: 3, end: 6 });
    expect(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text()).to.equal('345');
    expect(totalBytes).to.equal(10);
    expect(await rejection(source.open('tokenizer.json'))).to.have.property('code', 'model-not-found');
    expect(() => createFileSource([])).to.throw(TypeError);
  });

  it('open: an aborted signal ends the reading', async () => {
    const controller = new AbortController();
    const { stream } = await createFileSource([file('abc', 'm.gguf')]).open('m.gguf', { signal: controller.signal });
    controller.abort();
    expect(await rejection(stream.getReader().read())).to.have.property('name', 'AbortError');
  });

  it('collectFiles: goes through folders that were dropped', async () => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle('tokenglass-drop-test', { create: true });
    const inner = await folder.getDirectoryHandle('onnx', { create: true });
    for (const [directory, name] of [[folder, 'config.json'], [inner, 'model_q4.onnx']] as const) {
      const writable = await (await directory.getFileHandle(name, { create: true })).createWritable();
      await writable.write(name);
      await writable.close();
    }
    const source = createFileSource(await collectFiles([folder]));
    expect([...source.paths].sort()).to.deep.equal(['config.json', 'onnx/model_q4.onnx']);
    expect(text(await readAll(source, 'onnx/model_q4.onnx'))).to.equal('model_q4.onnx');
    await root.removeEntry('tokenglass-drop-test', { recursive: true });
  });
});

describe('splitSet', () => {
  it('splitSet: names all files of a set, from any of them, and undefined for a whole file', () => {
    const set = ['d/m-00001-of-00003.gguf', 'd/m-00002-of-00003.gguf', 'd/m-00003-of-00003.gguf'];
    for (const path of set) expect(splitSet(path)).to.deep.equal(set);
    for (const path of ['m.gguf', 'm-00004-of-00003.gguf', 'm-00000-of-00003.gguf', 'm-1-of-3.gguf'])
      expect(splitSet(path), path).to.equal(undefined);
  });
});
