import { engineContract } from './testing/engine-contract.ts';
import { createFakeEngine } from './testing/fake-engine.ts';

for (const [name, runAhead, completion] of [
  ['one step at a time', 1, 'immediate'],
  ['three steps ahead, each in its task', 3, 'task'],
] as const)
  engineContract(`LocalEngine, ${name}`, () =>
    Promise.resolve(createFakeEngine({ capabilities: { runAhead }, completion }).engine),
  );
