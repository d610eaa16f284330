import { expect } from 'chai';
import { isTokenglassError } from '../../../shared/errors.ts';
import { countsFirstToken, importLibrary, type MlcEngine, type MlcLibrary } from './library.ts';
import { listWebLlmModels } from './list-models.ts';

describe('importLibrary', () => {
  let library: MlcLibrary;
  before(async () => {
    library = await importLibrary();
  });

  it('importLibrary: the installed package has what is used of it', () => {
    const engine = new library.MLCEngine();
    const has = (object: object, name: string): void => {
      expect((object as Record<string, unknown>)[name], name).to.be.a('function');
    };
    for (const name of ['reload', 'unload', 'interruptGenerate', 'resetChat']) has(engine, name);
    has(engine.chat.completions, 'create');
    has(engine.completions, 'create');
    const { loadedModelIdToPipeline: pipelines } = engine as MlcEngine & { loadedModelIdToPipeline?: unknown };
    expect(pipelines, 'private, and needed for ids').to.be.instanceOf(Map);
    for (const name of ['deleteModelInCache', 'deleteModelWasmInCache', 'deleteChatConfigInCache']) has(library, name);
    has(library, 'WebWorkerMLCEngine');
    expect(countsFirstToken(library)).to.equal(true);
  });

  it('countsFirstToken: is false for the versions before 0.2.86', () => {
    const of = (modelVersion: string): boolean => countsFirstToken({ modelVersion } as MlcLibrary);
    expect([of('v0_2_48'), of('v0_2_80'), of('v0_2_86/base'), of('v0_3_0'), of('v1_0_0')]).to.deep.equal([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it('listWebLlmModels: offers the catalog with memory and needs, without models of embeddings', async () => {
    const models = await listWebLlmModels();
    const small = models.find(({ id }) => id === 'Llama-3.2-1B-Instruct-q4f16_1-MLC');
    expect(small?.memoryBytes).to.be.within(8e8, 1e9);
    expect(small).to.include({ lowResource: true, contextTokens: 4096, seesImages: false });
    expect(models.filter(({ id }) => /embed/i.test(id))).to.deep.equal([]);
    expect(models.some(({ requiredFeatures }) => requiredFeatures.includes('shader-f16'))).to.equal(true);
    expect(models.some(({ seesImages }) => seesImages)).to.equal(true);
  });

  it('MLCEngine: a name it does not know fails as the error mapping expects', async () => {
    const engine = new library.MLCEngine();
    const error = await engine.reload('no such model').catch((thrown: unknown) => thrown);
    expect(isTokenglassError(error)).to.equal(false);
    expect((error as Error).name).to.equal('ModelNotFoundError');
    const early = await engine.chat.completions
      .create({ stream: true, messages: [{ role: 'user', content: 'hi' }] })
      .catch((thrown: unknown) => thrown);
    expect((early as Error).name).to.equal('ModelNotLoadedError');
  });
});
