import { engineContract } from '../../engine/testing/engine-contract.ts';
import { createWebLlmEngine } from './create-web-llm-engine.ts';
import { realMlc, SKIPPED } from './testing/real-mlc.ts';

const NAME = 'web-llm, the real library';
const options = await realMlc();

// Hours on a software adapter: for a machine with a GPU.
if (options)
  engineContract(NAME, () => createWebLlmEngine(options), { takesTokenIds: false, tokens: 6, timeoutMs: 3_600_000 });
else {
  console.info(`Engine contract: ${NAME} ${SKIPPED}`);
  describe(`Engine contract: ${NAME}`, () => {
    it.skip(SKIPPED);
  });
}
