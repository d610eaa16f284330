import { createFakeEngine } from '../../engine/testing/fake-engine.ts';
import { engineContract } from '../../engine/testing/engine-contract.ts';
import { createEndpointEngine } from './create-endpoint-engine.ts';
import { standInServer } from './testing/stand-in-server.ts';

engineContract('endpoint', () => {
  const { engine } = createFakeEngine({ contextTokens: 512, completion: 'task' });
  return createEndpointEngine({
    baseURL: 'http://stand-in/v1',
    model: 'stand-in',
    fetch: standInServer(engine),
    maxRetries: 0,
  });
});
