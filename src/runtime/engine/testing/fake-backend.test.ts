import { backendContract } from '../../backends/testing/backend-contract.ts';
import { FakeBackend } from './fake-backend.ts';
import { bytesOf } from './byte-tokenizer.ts';

for (const completion of ['immediate', 'task'] as const)
  backendContract(
    `fake, run-ahead 3, ${completion}`,
    () => Promise.resolve(new FakeBackend({ capabilities: { runAhead: 3, maxVerifyTokens: 8 }, completion })),
    { promptTokens: bytesOf('What is TTFT?') },
  );
