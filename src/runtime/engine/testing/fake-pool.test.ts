import { kvRoomContract } from '../../backends/testing/kv-room-contract.ts';
import { bytesOf } from './byte-tokenizer.ts';
import { FakeBackend } from './fake-backend.ts';

kvRoomContract(
  'fake',
  () => Promise.resolve(new FakeBackend({ contextTokens: 128, kvTokens: 192 })),
  bytesOf('What is TTFT?'),
);
