import { expect } from 'chai';
import { createBuiltInSource } from './builtin.ts';
import { CATALOG } from './catalog-entries.ts';
import { inFormat, resolveModel } from './catalog.ts';

describe('resolveModel', () => {
  it('resolveModel: tutor is built in, in both formats', () => {
    const { source, gguf, onnx } = resolveModel('tutor');
    expect(source).to.include({ id: 'tutor', kind: 'built-in' });
    expect({ gguf, onnx }).to.deep.equal({ gguf: 'tutor.q4_0.gguf', onnx: true });
  });

  it('resolveModel: a URL is a folder of ONNX files, or a GGUF file in its folder', () => {
    const folder = resolveModel('https://host.test/models/m');
    expect(folder).to.deep.include({ onnx: true });
    expect(folder.gguf).to.equal(undefined);
    expect(folder.source).to.include({ id: 'https://host.test/models/m', kind: 'url' });
    const file = resolveModel('https://host.test/models/m.Q4_0.gguf?download=true');
    expect(file).to.include({ gguf: 'm.Q4_0.gguf?download=true', onnx: false });
    for (const relative of ['./models/m/', '../m', '/models/m', './m.gguf']) {
      const { onnx, gguf, source } = resolveModel(relative);
      expect(onnx).to.equal(gguf === undefined);
      expect(source.id, 'not the same on another page').to.equal(new URL(relative, location.href).href);
    }
  });

  it('resolveModel: hf: names a model of the Hub, with a revision, a file, or a part of its name', () => {
    expect(resolveModel('hf:org/name').source).to.include({ id: 'org/name', kind: 'hub', revision: 'main' });
    expect(resolveModel('hf:org/name').onnx).to.equal(true);
    expect(resolveModel('hf:org/name').gguf).to.equal(undefined);
    const pinned = resolveModel('hf:org/na.me@refs/pr/3/sub/model-Q4_0.gguf');
    expect(pinned.source).to.include({ id: 'org/na.me', revision: 'refs/pr/3' });
    expect(pinned).to.include({ onnx: false, gguf: 'sub/model-Q4_0.gguf' });
    expect(resolveModel('hf:org/name@v2').source.revision).to.equal('v2');
    expect(resolveModel('hf:org/name/Q4_K_M').gguf).to.equal('*Q4_K_M*.gguf');
    for (const wrong of ['hf:', 'hf:org', 'hf:../..', 'hf:org/name@'])
      expect(() => resolveModel(wrong), wrong).to.throw().with.property('code', 'model-not-found');
  });

  it('resolveModel: each name of the catalog is a GGUF file of one repository and the ONNX layout of another', () => {
    expect(CATALOG.map(({ name }) => name)).to.include.members(['tutor', 'smollm2-135m', 'llama-3.2-1b']);
    for (const { name, hub } of CATALOG) {
      if (!hub) continue;
      const model = resolveModel(name, { hub: { baseUrl: 'https://mirror.test' } });
      const gguf = inFormat(model, 'gguf');
      expect(gguf.source, name).to.include({ id: hub.gguf.repository, kind: 'hub' });
      expect(gguf.gguf).to.equal(hub.gguf.file).and.match(/^[\w.-]+\.gguf$/);
      const onnx = inFormat(model, 'onnx');
      expect(onnx.source.id).to.equal(hub.onnx.repository);
      expect(onnx).to.include({ onnx: true }).and.not.to.have.property('gguf');
    }
    expect(inFormat(resolveModel('tutor'), 'onnx').source.id).to.equal('tutor');
  });

  it('CATALOG: names and repositories are unique, the smallest comes first, and what is needed is more than the download', () => {
    const repositories = CATALOG.flatMap(({ hub }) => (hub ? [hub.gguf.repository, hub.onnx.repository] : []));
    const names = [...CATALOG.map(({ name }) => name), ...repositories];
    expect(new Set(names).size).to.equal(names.length);
    for (const repository of repositories) expect(repository).to.match(/^[\w.-]+\/[\w.-]+$/);
    for (const { name, downloadBytes, neededBytes } of CATALOG) expect(neededBytes, name).to.be.greaterThan(downloadBytes);
    const parameters = CATALOG.map((entry) => entry.parameters);
    expect(parameters).to.deep.equal(parameters.toSorted((a, b) => a - b));
  });

  it('resolveModel: chosen files are a GGUF file or the folder of an ONNX model', () => {
    const gguf = resolveModel({ files: [new File([], 'README.md'), new File([], 'm.gguf')] });
    expect(gguf).to.include({ gguf: 'm.gguf', onnx: false });
    expect(gguf.source).to.include({ id: 'm.gguf', kind: 'file' });
    const shards = ['m-00002-of-00002.gguf', 'm-00001-of-00002.gguf'].map((name) => new File([], name));
    expect(resolveModel({ files: shards }).gguf).to.equal('m-00001-of-00002.gguf');
    const file = new File([], 'x');
    const folder = resolveModel({
      files: ['mine/config.json', 'mine/onnx/model_q4.onnx'].map((path) => ({ path, file })),
    });
    expect([folder.gguf, folder.onnx]).to.deep.equal([undefined, true]);
    expect(folder.source.id).to.equal('mine');
    expect(() => resolveModel({ files: [file] }))
      .to.throw(/choose the folder/)
      .with.property('code', 'model-not-found');
  });

  it('resolveModel: any other name is model-not-found, and the message says what there is', () => {
    for (const name of ['', 'tutr', 'onnx-community/some-model', 'C:'])
      expect(() => resolveModel(name), name)
        .to.throw(/tutor/)
        .with.property('code', 'model-not-found');
  });
});

describe('createBuiltInSource', () => {
  it('open: gives the files of the model, and model-not-found for any other', async () => {
    const source = createBuiltInSource();
    const { stream, totalBytes } = await source.open('config.json');
    const text = await new Response(stream).text();
    expect(JSON.parse(text)).to.have.property('model_type', 'llama');
    expect(totalBytes).to.equal(new TextEncoder().encode(text).length);
    for (const path of ['onnx/model_q4f16.onnx', '../../package.json', 'toString']) {
      const error: unknown = await source.open(path).catch((caught: unknown) => caught);
      expect(error, path).to.have.property('code', 'model-not-found');
    }
  });

  it('open: takes the files from another place where one is given', async () => {
    const base = new URL('../../../models/tutor', import.meta.url);
    const { stream } = await createBuiltInSource(base).open('generation_config.json');
    expect(await new Response(stream).json()).to.be.an('object');
  });
});
