import { engineContract } from '../../engine/testing/engine-contract.ts';
import { createWebLlmEngine } from './create-web-llm-engine.ts';
import { FAKE_MODEL, fakeMlc } from './testing/fake-mlc-library.ts';

for (const version of ['0.2.86', '0.2.79'] as const)
  engineContract(
    `web-llm, with a stand-in for its ${version}`,
    () => createWebLlmEngine({ model: FAKE_MODEL, library: fakeMlc({ version }).library }),
    { takesTokenIds: false },
  );
