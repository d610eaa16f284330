import { engineContract } from '../../runtime/engine/testing/engine-contract.ts';
import { shareFake } from './testing/fake-share.ts';

for (const place of ['tab', 'shared-worker'] as const)
  engineContract(`shared, in a ${place}`, () => shareFake(`contract-${place}`, { place }));
